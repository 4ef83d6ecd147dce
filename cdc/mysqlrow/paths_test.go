package mysqlrow

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/go-mysql-org/go-mysql/mysql"
	"pgregory.net/rapid"

	"leat/internal/columnar"
	"leat/internal/diag"
)

// genColumn draws a column of a supported type.
func genColumn(t *rapid.T, name string) Column {
	switch rapid.IntRange(0, 16).Draw(t, "family") {
	case 10:
		return col(name, fmt.Sprintf("time(%d)", rapid.IntRange(0, 6).Draw(t, "digits")))
	case 11:
		return col(name, "year")
	case 12:
		return col(name, fmt.Sprintf("bit(%d)", rapid.IntRange(1, 64).Draw(t, "bits")))
	case 13:
		return col(name, "enum('a','it''s','')")
	case 14:
		return col(name, "set('a','b c','','d','e','f','g','h','i')")
	case 15:
		return col(name, "json")
	case 16:
		return col(name, "vector(2)")
	case 0, 1:
		typ := rapid.SampledFrom([]string{"tinyint", "smallint", "mediumint", "int", "bigint"}).Draw(t, "int")
		return col(name, typ+rapid.SampledFrom([]string{"", " unsigned", "(10) unsigned zerofill"}).Draw(t, "sign"))
	case 2, 3:
		p := rapid.IntRange(1, 65).Draw(t, "precision")
		return col(name, fmt.Sprintf("decimal(%d,%d)", p, rapid.IntRange(0, min(p, 30)).Draw(t, "scale")))
	case 4:
		return col(name, rapid.SampledFrom([]string{"float", "double"}).Draw(t, "float"))
	case 5:
		return col(name, "date")
	case 6:
		return col(name, fmt.Sprintf("datetime(%d)", rapid.IntRange(0, 6).Draw(t, "digits")))
	case 7:
		return col(name, fmt.Sprintf("timestamp(%d)", rapid.IntRange(0, 6).Draw(t, "digits")))
	case 8:
		c := col(name, rapid.SampledFrom([]string{"char(20)", "char(200)", "varchar(20)", "varchar(300)", "tinytext", "text", "mediumtext", "longtext"}).Draw(t, "text"))
		return c.charset(rapid.SampledFrom([]string{"utf8mb4", "utf8mb3", "ascii", "latin1", "gbk", "sjis", "ujis", "utf16", "gb18030", "tis620"}).Draw(t, "charset"))
	default:
		return col(name, rapid.SampledFrom([]string{"binary(20)", "varbinary(20)", "varbinary(300)", "tinyblob", "blob", "mediumblob", "longblob"}).Draw(t, "bytes"))
	}
}

// genTarget draws a type that the column fits into.
func genTarget(t *rapid.T, c Column) columnar.DataType {
	typ, err := NaturalType(c)
	if err != nil {
		t.Fatal(err)
	}
	types := []columnar.DataType{typ}
	types = append(types, listOf(columnar.Of(columnar.Float)), timeOf(rapid.IntRange(0, 6).Draw(t, "time digits")))
	for _, k := range []columnar.Kind{columnar.BigInt, columnar.Double, columnar.VarChar, columnar.VarBinary} {
		types = append(types, columnar.DataType{Kind: k, Nullable: true, Length: columnar.MaxLength})
	}
	p := rapid.IntRange(1, 38).Draw(t, "target precision")
	types = append(types,
		columnar.DecimalOf(p, rapid.IntRange(0, p).Draw(t, "target scale")),
		columnar.TimestampOf(rapid.IntRange(0, 6).Draw(t, "target digits")), ltz(rapid.IntRange(0, 6).Draw(t, "ltz digits")))
	for range 10 {
		if got := rapid.SampledFrom(types).Draw(t, "target"); CheckDeclared(c, got) == nil {
			return got
		}
	}
	return typ
}

func genValue(t *rapid.T, c Column) value {
	if rapid.IntRange(0, 7).Draw(t, "null") == 0 {
		return value{null: true}
	}
	switch c.family() {
	case famInt:
		bits := c.intBytes() * 8
		raw := rapid.Uint64().Draw(t, "bits") >> (64 - bits)
		n := new(big.Int).SetUint64(raw)
		if !c.Unsigned() && raw>>(bits-1) == 1 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(bits)))
		}
		return value{num: n}
	case famDecimal:
		digits := rapid.StringOfN(rapid.RuneFrom([]rune("0123456789")), 1, c.Precision, -1).Draw(t, "digits")
		n, _ := new(big.Int).SetString(digits, 10)
		if rapid.Bool().Draw(t, "negative") {
			n.Neg(n)
		}
		return value{num: n}
	case famFloat:
		if c.DataType == "float" {
			return value{float: float64(rapid.Float32().Draw(t, "float"))}
		}
		return value{float: rapid.Float64().Draw(t, "double")}
	case famDate, famDatetime:
		// Months and days beyond the calendar are among them: MySQL stores some.
		return value{
			y: rapid.IntRange(0, 9999).Draw(t, "y"), m: rapid.IntRange(0, 12).Draw(t, "m"), d: rapid.IntRange(0, 31).Draw(t, "d"),
			h: rapid.IntRange(0, 23).Draw(t, "h"), mi: rapid.IntRange(0, 59).Draw(t, "mi"), s: rapid.IntRange(0, 59).Draw(t, "s"),
			us: genMicros(t, c),
		}
	case famTimestamp:
		if rapid.IntRange(0, 9).Draw(t, "zero") == 0 {
			return value{}
		}
		at := time.Unix(rapid.Int64Range(1, math.MaxUint32).Draw(t, "seconds"), 0).UTC()
		return value{y: at.Year(), m: int(at.Month()), d: at.Day(), h: at.Hour(), mi: at.Minute(), s: at.Second(), us: genMicros(t, c)}
	case famTime:
		return value{
			h: rapid.IntRange(0, 838).Draw(t, "h"), mi: rapid.IntRange(0, 59).Draw(t, "mi"), s: rapid.IntRange(0, 59).Draw(t, "s"),
			us: genMicros(t, c), d: rapid.IntRange(0, 1).Draw(t, "negative"),
		}
	case famYear:
		return value{y: rapid.SampledFrom([]int{0, 1901, 2024, 2155}).Draw(t, "year")}
	case famBit:
		return value{bytes: rapid.SliceOfN(rapid.Byte(), c.bitBytes(), c.bitBytes()).Draw(t, "bits")}
	case famEnum:
		return value{num: big.NewInt(rapid.Int64Range(0, 3).Draw(t, "label"))}
	case famSet:
		return value{num: big.NewInt(rapid.Int64Range(0, 511).Draw(t, "labels"))}
	case famJSON:
		return value{doc: genDocument(t, 2)}
	case famVector:
		x, y := rapid.Float32().Draw(t, "x"), rapid.Float32().Draw(t, "y")
		return value{bytes: slices.Concat(littleEndian(uint64(math.Float32bits(x)), 4), littleEndian(uint64(math.Float32bits(y)), 4))}
	default:
		return value{bytes: rapid.SliceOfN(rapid.Byte(), 0, 20).Draw(t, "bytes")}
	}
}

// genMicros draws a fraction of a second with the digits of c.
func genMicros(t *rapid.T, c Column) int {
	step := int(pow10[6-c.FractionDigits])
	return rapid.IntRange(0, 999_999/step).Draw(t, "fraction") * step
}

// TestBothPathsAgree writes random rows of random tables in both wire forms;
// both must decode into equal arrays, and give equal keys.
func TestBothPathsAgree(t *testing.T) {
	t.Parallel()
	var zones []*time.Location
	for _, name := range []string{"UTC", "Asia/Shanghai", "America/New_York", "Australia/Lord_Howe"} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		zones = append(zones, zone)
	}
	rapid.Check(t, func(t *rapid.T) {
		var cols, selected []Column
		var targets []Target
		var pick []int
		schema := &columnar.Schema{}
		for i := range rapid.IntRange(1, 12).Draw(t, "columns") {
			c := genColumn(t, fmt.Sprintf("c%d", i))
			cols = append(cols, c)
			if rapid.IntRange(0, 3).Draw(t, "leave out") == 0 {
				continue
			}
			typ := genTarget(t, c)
			targets, selected, pick = append(targets, Target{i, typ}), append(selected, c), append(pick, i)
			schema.Fields = append(schema.Fields, columnar.Field{Name: c.Name, Type: typ})
		}
		plan, err := NewPlan(cols, targets, Options{Table: "t", ServerZone: rapid.SampledFrom(zones).Draw(t, "zone")})
		if err != nil {
			t.Fatal(err)
		}
		layout, err := plan.Bind(tableMap(cols...))
		if err != nil {
			t.Fatal(err)
		}
		fromImages, fromText := NewBuilder(plan, 4), NewBuilder(plan, 4)
		all := make([]int, len(targets))
		for i := range all {
			all[i] = i
		}
		for row := range rapid.IntRange(1, 10).Draw(t, "rows") {
			vals, some := make([]value, len(cols)), []value(nil)
			for i := range vals {
				vals[i] = genValue(t, cols[i])
			}
			for _, i := range pick {
				some = append(some, vals[i])
			}
			img := image(cols, vals)
			n, err := fromImages.AppendImage(layout, columnar.Delete, img)
			textErr := fromText.AppendText(columnar.Delete, packet(selected, some))
			if codeOf(err) == diag.CodeRuntimeValue && codeOf(textErr) == diag.CodeRuntimeValue {
				t.Skip("a TIME that is none of a day")
			}
			if err != nil || n != len(img) || textErr != nil {
				t.Fatalf("image of %d bytes: took %d, %v; text: %v", len(img), n, err, textErr)
			}
			if a, b := fromImages.AppendKey(nil, row, all), fromText.AppendKey(nil, row, all); string(a) != string(b) {
				t.Fatalf("row %d: keys differ: %x and %x", row, a, b)
			}
		}
		compare(t, fromImages, fromText, schema)
	})
}

func compare(t *rapid.T, a, b *Builder, schema *columnar.Schema) {
	x, err := a.Finish(schema)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	y, err := b.Finish(schema)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Release()
	for i := range x.Cols {
		if !array.Equal(x.Cols[i], y.Cols[i]) {
			t.Fatalf("column %s: binlog %v, text %v", schema.Fields[i].Type, x.Cols[i], y.Cols[i])
		}
	}
}

// FuzzAppendImage gives hostile bytes to a layout of every supported type.
func FuzzAppendImage(f *testing.F) {
	// Compressed, and a time of MariaDB's old form with a fraction.
	packed, fine := col("m4", "text"), col("m5", "datetime(5)")
	cols := []Column{
		col("a", "tinyint"), col("b", "smallint unsigned"), col("c", "mediumint"), col("d", "int"), col("e", "bigint unsigned"),
		col("f", "decimal(38,10)"), col("g", "decimal(65,30)"), col("h", "decimal(9,9)"), col("i", "float"), col("j", "double"),
		col("k", "char(5)"), col("l", "varchar(300)"), col("m", "tinytext"), col("n", "mediumblob"), col("o", "longblob"),
		col("p", "binary(9)"), col("q", "date"), col("r", "datetime(6)"), col("s", "datetime(2)"), col("t", "timestamp(4)"),
		col("u", "json"), col("v", "bit(12)"), col("w", "enum('x','y')"), col("x", "timestamp"), col("y", "varchar(9)").charset("latin1"),
		col("z", "json"), col("z1", "geometry"), col("z2", "set('p','q','r')"), col("z3", "time(3)"), col("z4", "year"),
		col("z5", "vector(3)"), col("m1", "uuid"), col("m2", "inet4"), col("m3", "inet6"), packed, fine, col("z6", "text").charset("gb18030"), col("z7", "text").charset("eucjpms"),
	}
	var targets []Target
	for i, c := range cols {
		if typ, err := NaturalType(c); err == nil {
			targets = append(targets, Target{i, typ})
		}
	}
	plan, err := NewPlan(cols, targets, Options{Table: "t", Key: []int{4, 14}, ChunkKey: []int{4, 5, 8, 9, 15, 16, 17, 18, 19, 21, 22, 23, 27, 28, 29}})
	if err != nil {
		f.Fatal(err)
	}
	m := tableMap(cols...)
	for i, c := range cols {
		switch c.Name {
		case packed.Name:
			m.Types[i] = typeBlobCompressed
		case fine.Name:
			m.Types[i], m.Meta[i] = mysql.MYSQL_TYPE_DATETIME, 0
		}
	}
	layout, err := plan.Bind(m)
	if err != nil {
		f.Fatal(err)
	}
	bitmap := []byte{0xFF, 0xFF, 0xFF, 0xFF, 0xFF}
	f.Add([]byte{0, 0, 0, 0, 0, 1, 2, 3})
	f.Add(binary.BigEndian.AppendUint64([]byte{0xFF, 0xFF, 0xEE, 0, 0xFE}, math.MaxUint64))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := NewBuilder(plan, 1)
		n, err := b.AppendImage(layout, columnar.Insert, data)
		if err == nil {
			if m, err := layout.Skip(data); err != nil || m != n {
				t.Errorf("decoding took %d bytes, skipping %d, %v", n, m, err)
			}
		}
		if err != nil && b.Len() != 0 {
			t.Errorf("%d rows after an error", b.Len())
		}
		for _, op := range []Op{OpInsert, OpUpdate} {
			r := Rows{Op: op, Columns: len(cols), Present: bitmap, PresentAfter: bitmap, Data: data}
			seen := layout.ForEach(r, func(before, after []byte) error {
				layout.SameKey(before, after)
				_, err := layout.AppendChunkKey(nil, after)
				return err
			})
			if err := b.AppendRows(layout, r); err == nil && seen == nil && b.Len() == 0 && len(data) > 0 {
				t.Error("no rows and no error")
			}
		}
		if err := b.AppendText(columnar.Insert, data); err == nil && len(data) < len(targets) {
			t.Error("a row of too few bytes")
		}
	})
}
