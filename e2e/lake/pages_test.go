package lake

import (
	"fmt"
	"testing"
)

// TestParquetPagesReadEqual writes columns whose pages are of every encoding
// (few values, many, none, some of each) and compares what the readers see,
// before and after a compaction.
func TestParquetPagesReadEqual(t *testing.T) {
	t.Parallel()
	const columns = "id BIGINT NOT NULL; n INT; big BIGINT; de DECIMAL(9, 2); money DECIMAL(18, 2); s STRING; da DATE; tm TIME(3); " +
		"t3 TIMESTAMP(3); t6 TIMESTAMP(6); z TIMESTAMP(3) WITH LOCAL TIME ZONE; few INT; word STRING; nothing BIGINT; some BIGINT"
	warehouse := t.TempDir()
	create(t, warehouse, "db.pages", columns, map[string]string{"bucket": "1", "write-only": "true", "parquet.page.size": "8 kb"})
	l := open(t, warehouse, "db.pages")
	or := func(null bool, format string, v ...any) string {
		if null {
			return "null"
		}
		return fmt.Sprintf(format, v...)
	}
	for epoch := range 2 {
		var rows []change
		for i := range 3000 {
			x := uint64(i*2+epoch+1) * 0x9e3779b97f4a7c15
			null := func(col int) bool { return (x>>col)%8 == 0 }
			stamp := fmt.Sprintf("%04d-%02d-%02dT%02d:%02d:%02d.%03d", 1900+x>>8%200, x>>16%12+1, x>>20%28+1, x>>24%24, x>>32%60, x>>40%60, x>>48%100*10+7)
			rows = append(rows, change(fmt.Sprintf("+I %d,%s,%s,%s,%s,%s,%s,%s,%s,%s,%s,%d,%q,null,%s", i*(2-epoch),
				or(null(1), "%d", int32(x)), or(null(2), "%d", int64(x)), or(null(3), `"%d.%02d"`, int32(x>>3)%10_000_000, x%100),
				or(null(4), `"%d.%02d"`, int64(x>>9)%10_000_000_000_000_000, x%100), or(null(5), `"text %x"`, x), or(null(6), "%q", stamp[:10]), or(null(7), "%q", stamp[11:]),
				or(null(8), "%q", stamp), or(null(9), "%q", stamp+"123"), or(null(10), `"%sZ"`, stamp),
				x>>60%5, []string{"a", "b", ""}[x>>50%3], or(i < 2500, "%d", x>>40))))
		}
		l.write(rows...)
		l.commit()
	}
	l.checkLatest(true)
	l.compact(true)
	l.checkLatest(true)
}
