package lake

import (
	"maps"
	"testing"

	"leat/e2e/judge"
)

// history is what is written to a table of one engine: epochs of changes.
type history struct {
	name, columns string
	options       map[string]string
	epochs        [][]change
	want          []string
	// python says that PyPaimon reads such tables; differs that Java writing the
	// same rows ends with other ones.
	python, differs bool
	// full runs it with changelog producer full-compaction too.
	full bool
}

var histories = []history{
	{
		name: "partial", columns: "id BIGINT NOT NULL; a STRING; b BIGINT; c DECIMAL(10, 2)", python: true,
		options: map[string]string{"merge-engine": "partial-update"},
		epochs: [][]change{
			{`+I 1,"x",null,"1.50"`, `+I 2,"y",2,null`, `+I 1,null,5,null`},
			{`+I 2,null,null,"7.25"`, `+I 3,"z",null,null`},
			{`+I 1,"x2",null,null`, `+I 3,null,null,"0.01"`},
		},
		want: []string{`1,"x2",5,"1.50"`, `2,"y",2,"7.25"`, `3,"z",null,"0.01"`},
	},
	{
		name: "remove", full: true, columns: "id BIGINT NOT NULL; a STRING; b BIGINT", differs: true,
		options: map[string]string{"merge-engine": "partial-update", "partial-update.remove-record-on-delete": "true"},
		epochs: [][]change{
			{`+I 1,"x",1`, `+I 2,"y",2`, `+I 3,"z",3`},
			{`-D 2,"y",2`, `+I 2,null,9`, `-D 3,"z",3`, `+I 4,"n",null`, `-D 4,"n",null`},
			{`+I 4,null,4`, `-D 1,"x",1`, `+I 1,"again",null`, `-D 1,"again",null`, `+I 1,null,7`},
		},
		want: []string{`1,null,7`, `2,null,9`, `4,null,4`},
	},
	{
		name: "groups", full: true, columns: "id BIGINT NOT NULL; s1 BIGINT; a STRING; b STRING; s2 BIGINT; n BIGINT; free STRING",
		options: map[string]string{
			"merge-engine": "partial-update", "fields.s1.sequence-group": "a,b", "fields.s2.sequence-group": "n", "fields.n.aggregate-function": "sum",
		},
		epochs: [][]change{
			{`+I 1,5,"a5","b5",1,10,"f"`, `+I 1,3,"a3","b3",2,5,null`, `+I 2,1,"a","b",null,null,"g"`},
			{`+I 1,6,null,"b6",1,100,null`, `-D 2,2,"a","b",null,null,null`, `+I 3,null,null,null,4,4,"h"`},
			{`-U 1,6,null,"b6",2,5,null`, `+U 1,7,"a7",null,3,1,"f2"`, `+I 2,1,"old","old",null,null,null`},
		},
		want: []string{`1,7,"a7",null,3,111,"f2"`, `2,2,null,null,null,null,"g"`, `3,null,null,null,4,4,"h"`},
	},
	{
		name: "group-remove", columns: "id BIGINT NOT NULL; s BIGINT; a STRING; free STRING", differs: true,
		options: map[string]string{
			"merge-engine": "partial-update", "fields.s.sequence-group": "a", "partial-update.remove-record-on-sequence-group": "s",
		},
		epochs: [][]change{
			{`+I 1,5,"a5","f"`, `+I 2,5,"b5","g"`, `+I 3,1,"c","h"`},
			{`+I 1,6,"a6",null`, `-D 1,7,null,null`, `-D 2,4,null,null`, `-D 3,2,null,null`, `+I 3,3,"c3",null`},
			{`+I 2,6,"b6",null`},
		},
		want: []string{`2,6,"b6","g"`, `3,3,"c3",null`},
	},
	{
		name: "aggregation", full: true, python: false, differs: true,
		columns: "id BIGINT NOT NULL; su DECIMAL(10, 2); mx BIGINT; mn STRING; lv BIGINT; ln BIGINT; fv STRING; la STRING; ba BOOLEAN; bo BOOLEAN; pr BIGINT; d DOUBLE",
		options: map[string]string{
			"merge-engine": "aggregation", "fields.su.aggregate-function": "sum", "fields.mx.aggregate-function": "max", "fields.mx.ignore-retract": "true",
			"fields.mn.aggregate-function": "min", "fields.mn.ignore-retract": "true", "fields.lv.aggregate-function": "last_value",
			"fields.fv.aggregate-function": "first_value", "fields.fv.ignore-retract": "true", "fields.la.aggregate-function": "listagg",
			"fields.la.list-agg-delimiter": " | ", "fields.la.ignore-retract": "true", "fields.ba.aggregate-function": "bool_and", "fields.ba.ignore-retract": "true",
			"fields.bo.aggregate-function": "bool_or", "fields.bo.ignore-retract": "true", "fields.pr.aggregate-function": "product",
			"fields.d.aggregate-function": "sum",
		},
		epochs: [][]change{
			{
				`+I 1,"1.10",5,"m",1,1,"f","p",true,false,2,0.5`, `+I 1,"2.20",3,"k",null,null,"g","",true,true,3,0.25`,
				`+I 2,"9.99",null,null,7,7,null,null,null,null,null,null`, `+I 3,"1.00",1,"a",1,1,"a","a",false,false,1,1`,
			},
			{`-U 1,"2.20",3,"k",null,null,"g","",true,true,3,0.25`, `+U 1,"4.00",9,"z",4,null,"h","q",false,null,5,1.5`, `-D 3,"1.00",1,"a",1,1,"a","a",false,false,1,1`},
			{`+I 2,"0.01",1,"b",null,8,"late","only",false,null,6,2`, `+I 1,null,null,null,null,null,null,null,null,null,null,null`},
		},
		want: []string{
			`1,"5.10",9,"k",null,1,"f","p |  | q",false,true,10,2`, `2,"10.00",1,"b",null,8,null,"only",false,null,6,2`,
			`3,"0.00",1,"a",null,null,"a","a",false,false,1,0`,
		},
	},
	{
		name: "aggregation-simple", columns: "id BIGINT NOT NULL; su BIGINT; mx STRING; ln STRING", python: true,
		options: map[string]string{
			"merge-engine": "aggregation", "fields.su.aggregate-function": "sum", "fields.mx.aggregate-function": "max",
			"fields.default-aggregate-function": "last_non_null_value",
		},
		epochs: [][]change{{`+I 1,1,"a","x"`, `+I 1,2,"c",null`, `+I 2,5,null,null`}, {`+I 1,4,"b",null`, `+I 2,null,"z","y"`}},
		want:   []string{`1,7,"c","x"`, `2,5,"z","y"`},
	},
	{
		name: "aggregation-remove", columns: "id BIGINT NOT NULL; su BIGINT; mx STRING", differs: true,
		options: map[string]string{
			"merge-engine": "aggregation", "fields.su.aggregate-function": "sum", "fields.mx.aggregate-function": "max",
			"aggregation.remove-record-on-delete": "true",
		},
		epochs: [][]change{{`+I 1,1,"z"`, `+I 2,2,"y"`}, {`-D 1,1,"z"`, `+I 1,5,"a"`, `-D 2,2,"y"`}, {`+I 1,5,"b"`, `+I 2,1,"x"`}},
		want:   []string{`1,10,"b"`, `2,1,"x"`},
	},
	{
		// Retractions that come before anything to retract from, in a flush: of two
		// rows of one key, and of a list.
		name: "retractions", full: true, differs: true,
		columns: `id BIGINT NOT NULL; lv BIGINT; li {"type": "ARRAY", "element": "BIGINT"}`,
		options: map[string]string{
			"merge-engine": "aggregation", "fields.lv.aggregate-function": "last_value", "fields.lv.ignore-retract": "true",
			"fields.li.aggregate-function": "collect",
		},
		epochs: [][]change{
			{`+I 1,7,[1,2]`, `+I 1,8,[2,3]`, `+I 2,5,[9]`},
			{`-D 1,7,[1,2]`, `-D 1,8,[3]`, `-U 2,5,[9]`, `+U 2,6,[8,9]`},
			{`-D 2,6,[8]`, `-D 1,10,[2]`, `+I 1,10,[4]`},
		},
		want: []string{`1,10,[4]`, `2,6,[9]`},
	},
	{
		name: "sequence", columns: "id BIGINT NOT NULL; a BIGINT; b STRING; v STRING", python: true, differs: true,
		options: map[string]string{"sequence.field": "a,b"},
		epochs: [][]change{
			{`+I 1,5,"m","first"`, `+I 1,4,"z","older"`, `+I 2,null,null,"none"`, `+I 3,1,"x","one"`},
			{`+I 1,5,"k","older"`, `+I 2,null,null,"later"`, `-U 3,1,"x","one"`, `+U 3,0,"y","zero"`},
			{`+I 1,5,"m","tie"`, `-D 2,9,null,"later"`},
		},
		want: []string{`1,5,"m","tie"`, `3,1,"x","one"`},
	},
	{
		name: "descending", columns: "id BIGINT NOT NULL; n BIGINT; v STRING", python: true, differs: true,
		options: map[string]string{"sequence.field": "n", "sequence.field.sort-order": "descending"},
		epochs:  [][]change{{`+I 1,5,"five"`, `+I 1,3,"three"`, `+I 1,4,"four"`, `+I 2,1,"one"`}, {`+I 1,3,"tie"`, `+I 2,2,"two"`, `+I 2,null,"null"`}},
		want:    []string{`1,3,"tie"`, `2,1,"one"`},
	},
	{
		name: "kinds", columns: "id BIGINT NOT NULL; op STRING; v STRING", python: true,
		options: map[string]string{"rowkind.field": "op"},
		epochs:  [][]change{{`+I 1,"+I","a"`, `+I 2,"+I","b"`}, {`+I 1,"-D","a"`, `+I 2,"-U","b"`, `+I 2,"+U","b2"`}},
		want:    []string{`2,"+U","b2"`},
	},
	{
		name: "first-row", columns: "id BIGINT NOT NULL; v STRING", python: true,
		options: map[string]string{"merge-engine": "first-row", "ignore-delete": "true"},
		epochs:  [][]change{{`+I 1,"a"`, `+I 1,"b"`, `+I 2,"c"`}, {`+I 2,"d"`, `+I 3,"e"`, `-D 1,"a"`}},
		want:    []string{`1,"a"`, `2,"c"`, `3,"e"`},
	},
	{
		name: "deduplicate", full: true, columns: "id BIGINT NOT NULL; v STRING", python: true, options: map[string]string{},
		epochs: [][]change{
			{`+I 1,"a"`, `+I 2,"b"`, `+I 3,"c"`},
			{`-U 1,"a"`, `+U 1,"a2"`, `-D 2,"b"`, `+I 4,"d"`, `-D 4,"d"`},
			{`+I 2,"b2"`, `-U 3,"c"`, `+U 3,"c"`, `-D 1,"a2"`, `+I 1,"a3"`},
		},
		want: []string{`1,"a3"`, `2,"b2"`, `3,"c"`},
	},
}

// write writes the epochs of h with leat.
func (h *history) write(l *lakeTable) {
	for i, e := range h.epochs {
		if i == 1 {
			l.restart()
		}
		l.write(e...)
		l.commit()
	}
}

func with(options map[string]string, more ...string) map[string]string {
	o := maps.Clone(options)
	o["bucket"] = "1"
	for i := 0; i < len(more); i += 2 {
		o[more[i]] = more[i+1]
	}
	return o
}

// TestEnginesReadEqual writes every history with leat, without compaction and
// with every changelog producer, and compares all readers at every snapshot,
// the changelog, and the rows after Java compacted what leat wrote.
func TestEnginesReadEqual(t *testing.T) {
	t.Parallel()
	for _, h := range histories {
		for _, producer := range []string{"none", "lookup", "full-compaction"} {
			if producer == "full-compaction" && !h.full {
				continue
			}
			t.Run(h.name+"/"+producer, func(t *testing.T) {
				t.Parallel()
				warehouse := t.TempDir()
				options := with(h.options, "changelog-producer", producer)
				if producer == "none" && h.name != "first-row" {
					options["num-sorted-run.compaction-trigger"] = "50" // files stay apart until Java compacts
				}
				create(t, warehouse, "db.t", h.columns, options)
				l := open(t, warehouse, "db.t")
				h.write(l)
				l.checkRows(h.want...)
				l.check(h.python && producer == "none")
				if producer != "none" {
					l.checkChangelog("id")
				}
				judge.Java(t).Compact(t, warehouse, "db.t")
				l.checkRows(h.want...)
				l.compact(true)
				l.checkRows(h.want...)
			})
		}
	}
}

// TestJavaHistoriesReadEqual writes every history with Java, goes on with
// leat, and compares the readers.
func TestJavaHistoriesReadEqual(t *testing.T) {
	t.Parallel()
	for _, h := range histories {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			warehouse := t.TempDir()
			create(t, warehouse, "db.t", h.columns, with(h.options, "changelog-producer", "lookup"))
			l := open(t, warehouse, "db.t")
			for i, e := range h.epochs {
				judge.Java(t).Write(t, warehouse, "db.t", "java", int64(i+1), ndjson(t, l.tab.Schema.Columns(), e), "--wait")
			}
			l.check(false)
			if !h.differs {
				l.checkRows(h.want...)
			}
			l.restart()
			for _, e := range h.epochs {
				l.write(e...)
				l.commit()
			}
			l.check(false)
			l.checkChangelog("id")
		})
	}
}
