package orc

// coder goes through the fields of a message, either to write all or to read
// the one that in stands at: one list of fields serves both ways.
type coder struct {
	out []byte
	// in is nil while writing.
	in *message
}

// encode gives the message whose fields a type lists.
func encode(fields func(*coder)) []byte {
	var c coder
	fields(&c)
	return c.out
}

// decode reads a message into the fields that a type lists.
func decode(b []byte, fields func(*coder)) error {
	c := coder{in: &message{b: b}}
	c.all(fields)
	return c.in.err
}

func (c *coder) all(fields func(*coder)) {
	for c.in.next() {
		fields(c)
	}
}

func (c *coder) reading() bool { return c.in != nil }

// at reports whether the message read stands at field.
func (c *coder) at(field int) bool { return c.in.field == field && !c.in.taken }

func (c *coder) uint(field int, v *uint64) {
	if !c.reading() {
		c.out = putUint(c.out, field, *v)
	} else if c.at(field) {
		*v = c.in.uint()
	}
}

// count is uint for numbers that end at limit.
func (c *coder) count(field int, v *int, limit int) {
	u := uint64(*v)
	if c.uint(field, &u); c.reading() {
		*v = int(min(u, uint64(limit)))
	}
}

// codeSmall is uint for enumerations; a number beyond a byte is 255.
func codeSmall[T ~uint8](c *coder, field int, v *T) {
	n := int(*v)
	c.count(field, &n, 255)
	*v = T(n)
}

func (c *coder) uints(field int, v *[]uint64) {
	if !c.reading() {
		c.out = putPacked(c.out, field, *v)
	} else if c.at(field) {
		*v = c.in.uints(*v)
	}
}

// bytes are part of the message that is read.
func (c *coder) bytes(field int, v *[]byte) {
	if !c.reading() {
		c.out = putBytes(c.out, field, *v)
	} else if c.at(field) {
		*v = c.in.bytes()
	}
}

func (c *coder) string(field int, v *string) {
	if !c.reading() {
		c.out = putBytes(c.out, field, *v)
	} else if c.at(field) {
		*v = c.in.string()
	}
}

func (c *coder) strings(field int, v *[]string) {
	if !c.reading() {
		for _, s := range *v {
			c.out = putBytes(c.out, field, s)
		}
	} else if c.at(field) {
		*v = append(*v, c.in.string())
	}
}

// codeEach is a list of at most limit messages.
func codeEach[T any](c *coder, field int, list *[]T, limit int, fields func(*T, *coder)) {
	if !c.reading() {
		for i := range *list {
			var sub coder
			fields(&(*list)[i], &sub)
			c.out = putBytes(c.out, field, sub.out)
		}
		return
	}
	if !c.at(field) {
		return
	}
	sub := coder{in: c.in.sub()}
	if len(*list) >= limit {
		c.in.fail()
	}
	var item T
	sub.all(func(s *coder) { fields(&item, s) })
	c.in.done(sub.in)
	*list = append(*list, item)
}
