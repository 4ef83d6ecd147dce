package lake

import (
	"fmt"
	"testing"

	"leat/e2e/judge"
)

// TestDeletionVectorsReadEqual writes tables with deletion vectors of both
// sizes and compares the readers at every snapshot; Java and leat go on in turn.
// PyPaimon does not know the vectors of 64 bits.
func TestDeletionVectorsReadEqual(t *testing.T) {
	t.Parallel()
	const columns = "id BIGINT NOT NULL; v STRING"
	for _, wide := range []string{"false", "true"} {
		for _, producer := range []string{"none", "lookup"} {
			if wide == "true" && producer == "none" {
				continue // as with lookup, but for the changelog
			}
			t.Run(wide+"/"+producer, func(t *testing.T) {
				t.Parallel()
				warehouse := t.TempDir()
				create(t, warehouse, "db.t", columns, with(map[string]string{}, "deletion-vectors.enabled", "true", "deletion-vectors.bitmap64", wide,
					"changelog-producer", producer, "compaction.size-ratio", "0"))
				l := open(t, warehouse, "db.t")
				want := map[int]string{}
				write := func(from, to int, v string) {
					var rows []change
					for id := from; id < to; id++ {
						rows = append(rows, change(fmt.Sprintf("+U %d,%q", id, v)))
						want[id] = v
					}
					l.write(rows...)
					l.commit()
				}
				write(0, 9000, "a")
				write(10, 20, "b")
				write(15, 30, "c")
				l.write(`-D 0,"a"`, `-D 17,"c"`)
				l.commit()
				delete(want, 0)
				delete(want, 17)
				l.restart()
				write(1000, 6500, "d")
				check := func() {
					t.Helper()
					var rows []string
					for id, v := range want {
						rows = append(rows, fmt.Sprintf("%d,%q", id, v))
					}
					l.checkRows(rows...)
				}
				check()
				l.check(wide == "false" && producer == "none")
				java := judge.Java(t)
				java.Write(t, warehouse, "db.t", "java", 1, ndjson(t, l.tab.Schema.Columns(), []change{`+U 5,"java"`, `+U 6000,"java"`, `-D 29,"c"`}), "--wait")
				want[5], want[6000] = "java", "java"
				delete(want, 29)
				check()
				l.restart()
				write(5998, 6003, "e")
				write(28, 31, "f")
				check()
				if producer == "lookup" {
					l.checkChangelog("id")
				}
				java.Compact(t, warehouse, "db.t")
				check()
				l.restart()
				write(1, 4, "g")
				l.compact(true)
				check()
			})
		}
	}
}
