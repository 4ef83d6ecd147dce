package mysqlrow

import (
	"bytes"
	"strings"
	"sync"

	"vitess.io/vitess/go/mysql/collations"
	"vitess.io/vitess/go/mysql/collations/colldata"
)

// collator gives the order of texts under one collation of the server.
type collator struct {
	data colldata.Collation
	// pad is the weight of a blank where texts compare as if the shorter one had
	// blanks without end (PAD SPACE); nil for NO PAD.
	pad []byte
}

// collators keeps those that were asked for by name; nil for one that is not known.
var collators sync.Map

var serverCollations = sync.OnceValue(func() *collations.Environment { return collations.NewEnvironment("8.0.30") })

// collatorOf gives the order of a collation, nil if it is not known.
func collatorOf(name string) *collator {
	if c, ok := collators.Load(name); ok {
		return c.(*collator)
	}
	c, _ := collators.LoadOrStore(name, newCollator(name))
	return c.(*collator)
}

func newCollator(name string) *collator {
	name = strings.ToLower(name)
	if rest, ok := strings.CutPrefix(name, "utf8_"); ok {
		name = "utf8mb3_" + rest
	}
	// MariaDB has another order under this name than MySQL.
	if name == "binary" || strings.HasSuffix(name, "_croatian_ci") && name != "latin2_croatian_ci" && name != "cp1250_croatian_ci" {
		return nil
	}
	data := colldata.Lookup(serverCollations().LookupByName(name))
	if data == nil {
		return nil
	}
	c := &collator{data: data}
	if !strings.Contains(name, "_0900_") {
		var blank [4]byte
		n := data.Charset().EncodeRune(blank[:], ' ')
		c.pad = data.WeightString(nil, blank[:n], 0)
		if len(c.pad) == 1 && c.pad[0] != ' ' {
			// The server pads with the weight of a blank where it compares, and with
			// the blank itself where it sorts: its own orders differ.
			return nil
		}
	}
	return c
}

// What the rest of a text is against blanks without end.
const (
	restBelow = iota
	restBlank // and so the end
	restAbove
)

// appendKey appends bytes in the order of the collation. With PAD SPACE they tell
// their end: before each weight stands how the rest compares with blanks, so that
// a text is below those that go on above the blank, and above those that go on below it.
func (c *collator) appendKey(dst, text []byte) []byte {
	if c.pad == nil {
		return c.data.WeightString(dst, text, 0)
	}
	var buf [256]byte
	weights := c.data.WeightString(buf[:0], text, 0)
	unit := len(c.pad)
	for bytes.HasSuffix(weights, c.pad) {
		weights = weights[:len(weights)-unit]
	}
	rest, until := byte(restBlank), 0 // of the blanks up to the weight at until
	for at := 0; at < len(weights); at += unit {
		if at >= until {
			for until = at; bytes.HasPrefix(weights[until:], c.pad); until += unit {
			}
			rest = restAbove
			if bytes.Compare(weights[until:min(until+unit, len(weights))], c.pad) < 0 {
				rest = restBelow
			}
			until += unit
		}
		dst = append(dst, rest)
		dst = append(dst, weights[at:min(at+unit, len(weights))]...)
	}
	return append(dst, restBlank)
}
