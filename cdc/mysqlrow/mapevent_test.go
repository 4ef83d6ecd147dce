package mysqlrow

import (
	"encoding/hex"
	"errors"
	"slices"
	"testing"

	"github.com/go-mysql-org/go-mysql/mysql"
	"github.com/google/go-cmp/cmp"

	"leat/internal/columnar"
)

// mapEvent writes the body of a table map.
func mapEvent(database, name string, types, meta, optional []byte) []byte {
	b := []byte{7, 0, 0, 0, 1, 0, 1, 0}
	b = append(append(b, byte(len(database))), database...)
	b = append(append(b, 0, byte(len(name))), name...)
	b = append(append(b, 0, byte(len(types))), types...)
	b = append(append(b, byte(len(meta))), meta...)
	b = append(b, make([]byte, (len(types)+7)/8)...)
	return append(b, optional...)
}

func TestTableMapsOfBothServers(t *testing.T) {
	t.Parallel()
	types := []byte{
		mysql.MYSQL_TYPE_LONG, typeVarcharCompressed, typeBlobCompressed, mysql.MYSQL_TYPE_STRING, mysql.MYSQL_TYPE_NEWDECIMAL,
		mysql.MYSQL_TYPE_BIT, mysql.MYSQL_TYPE_DATETIME2, mysql.MYSQL_TYPE_DATETIME, mysql.MYSQL_TYPE_VECTOR,
	}
	meta := []byte{0x2D, 0x01, 3, 0xF7, 1, 10, 2, 4, 1, 6, 4}
	optional := slices.Concat(
		[]byte{1, 1, 0x80},                                                     // signedness
		[]byte{2, 1, 45},                                                       // charset, which is passed
		[]byte{4, 18}, []byte("\x01a\x01b\x01c\x01d\x01e\x01f\x01g\x01h\x01i"), // names
		[]byte{6, 6, 2, 1, 'x', 2, 'y', 'z'}, // labels
	)
	got, err := ParseTableMap(mapEvent("shop", "t", types, meta, optional))
	if err != nil {
		t.Fatal(err)
	}
	name := func(s ...string) (out [][]byte) {
		for _, n := range s {
			out = append(out, []byte(n))
		}
		return out
	}
	want := MappedTable{ID: 1<<32 | 7, Database: "shop", Name: "t", TableMap: TableMap{
		Types: types, Meta: []uint16{0, 301, 3, 0xF701, 0x0A02, 0x0104, 6, 0, 4}, Signedness: []byte{0x80},
		Names: name("a", "b", "c", "d", "e", "f", "g", "h", "i"), Enums: [][][]byte{name("x", "yz")},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzTableMap gives hostile table maps: none may panic or take memory beyond its size.
func FuzzTableMap(f *testing.F) {
	whole := mapEvent("d", "t", []byte{mysql.MYSQL_TYPE_VARCHAR, mysql.MYSQL_TYPE_LONG}, []byte{40, 0}, []byte{4, 4, 1, 'a', 1, 'b'})
	for n := range whole {
		f.Add(whole[:n])
	}
	f.Add(whole)
	f.Fuzz(func(t *testing.T, body []byte) {
		m, err := ParseTableMap(body)
		if err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		if len(m.TableMap.Meta) != len(m.TableMap.Types) || len(m.TableMap.Names) > len(m.TableMap.Types) {
			t.Errorf("%d types, %d parameters, %d names", len(m.TableMap.Types), len(m.TableMap.Meta), len(m.TableMap.Names))
		}
	})
}

// packed are values of compressed columns as a server wrote them.
var packed = []struct {
	hex, want string
	good      bool
}{
	{"", "", true},
	{"0078", "x", true},
	{"8964" + "4b4c4aa4390400", "abababababababababababababababababababababababababababababababababababababababababababababababababab", true},
	{"8964" + "4b4c4aa439", "", false},     // cut
	{"89ff", "", false},                    // more than deflate can make
	{"8f00000000000000", "", false},        // a size of seven bytes
	{"1064", "", false},                    // an unknown method
	{"8164" + "4b4c4aa4390400", "", false}, // zlib's form, without its head
	{"8102789c4b4c0200012600c4", "ab", true},
}

func TestCompressedCells(t *testing.T) {
	t.Parallel()
	for _, tt := range packed {
		value, err := hex.DecodeString(tt.hex)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time with a decompressor that was used
			got, good := unpackCell(value)
			if good != tt.good || good && string(got) != tt.want && len(tt.want) < 50 {
				t.Errorf("%s is %q, %t, want %q, %t", tt.hex, got, good, tt.want, tt.good)
			}
		}
	}
}

func FuzzCompressedCell(f *testing.F) {
	for _, p := range packed {
		value, err := hex.DecodeString(p.hex)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		plain, _ := unpackCell(value)
		if len(plain) > deflateRatio*(len(value)+1) {
			t.Errorf("%d bytes out of %d", len(plain), len(value))
		}
	})
}

func TestVersionedTablesGiveCurrentRows(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, typ, ends, ended string }{
		{"timestamp", "timestamp(6)", "\x7F\xFF\xFF\xFF\x0F\x42\x3F", "\x6B\x0D\x28\x4D\x09\x46\xED"},
		{"timestamp since 11.5", "timestamp(6)", "\xFF\xFF\xFF\xFF\x0F\x42\x3F", "\x6B\x0D\x28\x4D\x09\x46\xED"},
	} {
		end := col("row_end", tt.typ)
		end.RowEnd, end.Hidden = true, true
		plan, err := NewPlan([]Column{col("id", "int"), end}, []Target{{0, columnar.Of(columnar.Int)}}, Options{Table: "t", Key: []int{0}})
		if err != nil {
			t.Fatal(err)
		}
		wire, meta := wireType(end)
		layout, err := plan.Bind(TableMap{Types: []byte{mysql.MYSQL_TYPE_LONG, wire}, Meta: []uint16{0, meta}, Names: [][]byte{[]byte("id"), []byte("other")}})
		if err != nil {
			t.Fatal(err)
		}
		row := func(id byte, until string) []byte { return slices.Concat([]byte{0, id, 0, 0, 0}, []byte(until)) }
		b := NewBuilder(plan, 8)
		for _, r := range []Rows{
			{Op: OpInsert, Data: slices.Concat(row(1, tt.ends), row(2, tt.ended))},
			{Op: OpUpdate, Data: slices.Concat(row(1, tt.ends), row(1, tt.ends), row(1, tt.ends), row(3, tt.ends), row(3, tt.ends), row(3, tt.ended), row(4, tt.ended), row(4, tt.ended))},
			{Op: OpDelete, Data: slices.Concat(row(5, tt.ends), row(2, tt.ended))},
		} {
			r.Columns, r.Present, r.PresentAfter = 2, []byte{3}, []byte{3}
			if err := b.AppendRows(layout, r); err != nil {
				t.Fatal(err)
			}
		}
		batch, err := b.Finish(&columnar.Schema{Fields: []columnar.Field{{Name: "id", Type: columnar.Of(columnar.Int)}}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range batch.Rows() {
			got = append(got, batch.Kind(i).String()+" "+show(batch.Cols[0], i))
		}
		batch.Release()
		if diff := cmp.Diff([]string{"+I 1", "-U 1", "+U 1", "-D 1", "+I 3", "-D 3", "-D 5"}, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
		cut := Rows{Op: OpInsert, Columns: 2, Present: []byte{3}, Data: row(1, tt.ends)[:8]}
		if err := b.AppendRows(layout, cut); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: got %v, want a malformed row", tt.name, err)
		}
	}
}
