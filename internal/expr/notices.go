package expr

import (
	"fmt"
	"strings"
)

// Notices lists what in e is accepted, as in Flink, but hardly meant: patterns
// in the style of MySQL, and the year of the week in place of the year.
func Notices(e Expr) []string {
	var out []string
	walk(e, func(x Expr) {
		c, ok := x.(*callExpr)
		if !ok || len(c.args) < 2 {
			return
		}
		switch c.fn.name {
		case "DATE_FORMAT", "FROM_UNIXTIME", "TO_DATE", "TO_TIMESTAMP", "UNIX_TIMESTAMP OF":
		default:
			return
		}
		pattern, ok := constantText(c.args[1])
		if !ok {
			return
		}
		if strings.Contains(pattern, "%") {
			out = append(out, fmt.Sprintf("the pattern '%s' writes its %% signs as they are; patterns look like 'yyyy-MM-dd HH:mm:ss'", pattern))
		}
		if p, err := compilePattern(pattern); err == nil {
			for _, t := range p.tokens {
				if t.letter == 'Y' {
					out = append(out, fmt.Sprintf("in the pattern '%s' Y is the year of the week: the last days of December get the next year; write yyyy for the year", pattern))
					break
				}
			}
		}
	})
	return out
}
