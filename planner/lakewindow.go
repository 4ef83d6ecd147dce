package planner

import (
	"slices"

	"leat/internal/diag"
	"leat/sqlfront"
)

// window gives a window with what the window that it names says.
func (sc *lakeScope) window(w *sqlfront.Window, depth int) (*sqlfront.Window, error) {
	if w.Base.Text == "" {
		return w, nil
	}
	names := make([]string, len(sc.named))
	for i, n := range sc.named {
		names[i] = n.Name.Text
	}
	i := slices.Index(names, w.Base.Text)
	if i < 0 || depth > len(names) {
		return nil, unknown("window", w.Base.Text, w.Base.At, names, "write WINDOW "+w.Base.Text+" AS (…) behind FROM, WHERE and HAVING")
	}
	base, err := sc.window(sc.named[i].Window, depth+1)
	if err != nil {
		return nil, err
	}
	out := *w
	switch {
	case w.PartitionBy != nil && base.PartitionBy != nil, w.OrderBy != nil && base.OrderBy != nil, base.Frame != "" && (w.PartitionBy != nil || w.OrderBy != nil || w.Frame != ""):
		return nil, &diag.Error{Domain: diag.User, Code: diag.CodeType, Pos: w.At, Msg: "the window " + w.Base.Text + " says already what stands here", Hint: "add what it does not say, or write a window of its own"}
	case w.PartitionBy == nil:
		out.PartitionBy = base.PartitionBy
	}
	if w.OrderBy == nil {
		out.OrderBy = base.OrderBy
	}
	if w.Frame == "" {
		out.Frame = base.Frame
	}
	return &out, nil
}
