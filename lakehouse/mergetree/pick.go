package mergetree

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"leat/internal/columnar"
	"leat/internal/diag"
)

// newColumnFold makes the fold of a column by its function.
func newColumnFold(f columnar.Field, rule ColumnSpec, keep bool) (columnFold, error) {
	switch rule.Func {
	case "sum", "product":
		return newNumberFold(f, rule, keep)
	case "bool_and", "bool_or":
		if f.Type.Kind != columnar.Boolean {
			return nil, wrongType(f, rule)
		}
		return &boolFold{gatherBools: gatherBools{gatherBase: gatherBase{typ: columnar.ArrowType(f.Type), keep: keep}}, rule: rule}, nil
	case "listagg":
		if !f.Type.IsText() {
			return nil, wrongType(f, rule)
		}
		return newTextFold(f, rule, keep), nil
	case "collect", "merge_map", "nested_update":
		return newListFold(f, rule, keep)
	case "rbm32", "rbm64", "theta_sketch", "hll_sketch":
		return newSetFold(f, rule, keep)
	default:
		return newPickFold(f, rule, keep)
	}
}

func wrongType(f columnar.Field, rule ColumnSpec) error {
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeRefusedOption, Option: "fields." + f.Name + ".aggregate-function",
		Msg: fmt.Sprintf("%s does not take values of type %s", rule.Func, f.Type), Hint: "use another function or column type",
	}
}

// noRetract is the error of a function that cannot take a value back.
func noRetract(rule ColumnSpec) error {
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeRefusedOption,
		Msg:  fmt.Sprintf("function %s cannot take a value back, which an update or delete asks for", rule.Func),
		Hint: "set 'fields.<column>.ignore-retract' = 'true', or 'ignore-delete' = 'true' on the table",
	}
}

// picker collects the rows that a function picked.
type picker interface {
	gatherer
	isNull(r rowRef) bool
}

// pickFold folds by functions whose result is the value of one of the rows, or null.
type pickFold struct {
	g     picker
	order valueOrder
	rule  ColumnSpec
	// less inverts order for min.
	sign    int
	notNull bool
	pick    func(p *pickFold, refs []rowRef, acts []uint8) rowRef
	none    rowRef
	picks   []rowRef
	err     error
}

var pickFuncs = map[string]func(*pickFold, []rowRef, []uint8) rowRef{
	fnKey: pickKey, fnSequence: pickSequence, fnPlain: pickPlain, fnNonNull: pickLastNonNull,
	"last_value": pickPlain, "first_value": pickFirst, "first_non_null_value": pickFirstNonNull,
	"max": pickExtreme, "min": pickExtreme,
}

func newPickFold(f columnar.Field, rule ColumnSpec, keep bool) (*pickFold, error) {
	pick := pickFuncs[rule.Func]
	if pick == nil {
		return nil, &diag.Error{
			Domain: diag.User, Code: diag.CodeRefusedOption, Option: "fields." + f.Name + ".aggregate-function",
			Msg: fmt.Sprintf("leat does not run function '%s'", rule.Func), Hint: "use another function, or another engine for this table",
		}
	}
	g, err := newGatherer(f.Type, keep)
	if err != nil {
		return nil, err
	}
	p := &pickFold{g: g.(picker), rule: rule, pick: pick, sign: 1, notNull: !f.Type.Nullable}
	if rule.Func == "max" || rule.Func == "min" {
		if f.Type.IsNested() {
			return nil, wrongType(f, rule)
		}
		if p.order, err = newValueOrder(f.Type); err != nil {
			return nil, wrongType(f, rule)
		}
		if rule.Func == "min" {
			p.sign = -1
		}
	}
	return p, nil
}

func (p *pickFold) bind(arrs []arrow.Array) {
	p.none = rowRef{batch: uint32(len(arrs) - 1)}
	p.g.bind(arrs)
	if p.order != nil {
		p.order.bind(arrs)
	}
}

func (p *pickFold) fold(g *groupSet, acts []uint8) (arrow.Array, error) {
	p.picks, p.err = slices.Grow(p.picks[:0], len(g.from)), nil
	for i, a := range g.from {
		b := g.to[i]
		if b-a == 1 {
			p.picks = append(p.picks, g.refs[a])
			continue
		}
		r := p.pick(p, g.refs[a:b], acts[a:b])
		if p.notNull && r == p.none {
			r = g.refs[a]
		}
		p.picks = append(p.picks, r)
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.g.gather(p.picks), nil
}

// cleared is what a clearing row leaves of the column.
func (p *pickFold) cleared(r rowRef) rowRef {
	if p.notNull {
		return r
	}
	return p.none
}

func pickKey(_ *pickFold, refs []rowRef, _ []uint8) rowRef { return refs[len(refs)-1] }

func pickSequence(p *pickFold, refs []rowRef, acts []uint8) rowRef {
	cur := p.none
	for i, r := range refs {
		switch acts[i] {
		case actAdd, actRetract:
			cur = r
		case actClear:
			cur = p.cleared(r)
		}
	}
	return cur
}

// pickPlain takes the last value, null too; a retraction leaves null.
func pickPlain(p *pickFold, refs []rowRef, acts []uint8) rowRef {
	cur := p.none
	for i, r := range refs {
		switch acts[i] {
		case actAdd:
			cur = r
		case actRetract:
			if !p.rule.IgnoreRetract {
				cur = p.none
			}
		case actRetractOld:
			if p.rule.Func != fnPlain && !p.rule.IgnoreRetract {
				cur = p.none
			}
		case actClear:
			cur = p.cleared(r)
		}
	}
	return cur
}

func pickLastNonNull(p *pickFold, refs []rowRef, acts []uint8) rowRef {
	cur := p.none
	for i, r := range refs {
		switch act := acts[i]; {
		case act == actClear:
			cur = p.cleared(r)
		case act == actSkip || p.g.isNull(r):
		case act == actAdd, act == actOlder && p.g.isNull(cur):
			cur = r
		case act >= actRetract && !p.rule.IgnoreRetract:
			cur = p.none
		}
	}
	return cur
}

func pickFirst(p *pickFold, refs []rowRef, acts []uint8) rowRef {
	cur, seen := p.none, false
	for i, r := range refs {
		switch acts[i] {
		case actAdd:
			if !seen {
				cur, seen = r, true
			}
		case actOlder:
			cur, seen = r, true
		case actRetract, actRetractOld:
			p.retract()
		case actClear:
			cur, seen = p.cleared(r), false
		}
	}
	return cur
}

func pickFirstNonNull(p *pickFold, refs []rowRef, acts []uint8) rowRef {
	cur := p.none
	for i, r := range refs {
		switch act := acts[i]; {
		case act == actClear:
			cur = p.cleared(r)
		case act == actRetract || act == actRetractOld:
			p.retract()
		case act == actSkip || p.g.isNull(r):
		case act == actOlder || p.g.isNull(cur):
			cur = r
		}
	}
	return cur
}

func pickExtreme(p *pickFold, refs []rowRef, acts []uint8) rowRef {
	cur := p.none
	for i, r := range refs {
		switch act := acts[i]; {
		case act == actClear:
			cur = p.cleared(r)
		case act == actRetract || act == actRetractOld:
			p.retract()
		case act == actSkip || p.g.isNull(r):
		case p.g.isNull(cur) || p.order.compare(r, cur)*p.sign > 0:
			cur = r
		}
	}
	return cur
}

func (p *pickFold) retract() {
	if !p.rule.IgnoreRetract && p.err == nil {
		p.err = noRetract(p.rule)
	}
}
