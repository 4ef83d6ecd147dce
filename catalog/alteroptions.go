package catalog

import (
	"strconv"
	"strings"

	"leat/configs"
	"leat/internal/diag"
	"leat/lakehouse/spec"
)

// optionComment is no option: ALTER TABLE … SET ('comment' = …) changes the comment of the table.
const optionComment = "comment"

// frozen are the options that cannot change once a table has data
// (CoreOptions.IMMUTABLE_OPTIONS), with what depends on them.
var frozen = map[string]string{
	spec.OptionBucketKey:                             "rows that are stored lie in buckets chosen by it",
	"bucket-function.type":                           "rows that are stored lie in buckets chosen by it",
	"data-file.path-directory":                       "files that are stored lie below it",
	"index-file-in-data-file-dir":                    "index files that are stored lie where it says",
	"merge-engine":                                   "files that are stored were merged by it",
	"ignore-delete":                                  "files that are stored were merged by it",
	"ignore-update-before":                           "files that are stored were written by it",
	"aggregation.remove-record-on-delete":            "files that are stored were merged by it",
	"partial-update.remove-record-on-delete":         "files that are stored were merged by it",
	"partial-update.remove-record-on-sequence-group": "files that are stored were merged by it",
	"rowkind.field":                                  "rows that are stored got their kinds by it",
	"force-lookup":                                   "files that are stored were compacted by it",
	"data-evolution.enabled":                         "files that are stored are laid out by it",
}

func (a *alteration) setOption(v SetOption) error {
	key := strings.TrimSpace(v.Key)
	if key == optionComment {
		a.s.Comment = v.Value
		return nil
	}
	if err := a.mayChange(key, v.Value); err != nil {
		return err
	}
	value := configs.Value{Text: v.Value, KeyPos: v.Pos(), Pos: v.Pos()}
	if _, errs := configs.LakeTable.Check(configs.Values{key: value}, configs.CheckOptions{}); len(errs) > 0 {
		return errs
	}
	if key == spec.OptionBucket {
		if err := a.bucketChange(v.Value); err != nil {
			return err
		}
	}
	a.s.Options[key] = v.Value
	return nil
}

func (a *alteration) resetOption(v ResetOption) error {
	key := strings.TrimSpace(v.Key)
	switch {
	case key == optionComment:
		a.s.Comment = ""
		return nil
	case key == spec.OptionBucket:
		e := wrong(diag.CodeBadOption, "SET it to a number of buckets", "it cannot be reset: the number of buckets is part of the table")
		e.Option = key
		return e
	}
	if _, there := a.s.Options[key]; there {
		if err := a.mayChange(key, ""); err != nil {
			return err
		}
	}
	delete(a.s.Options, key)
	return nil
}

// mayChange refuses changes of what cannot change, with the reason.
func (a *alteration) mayChange(key, value string) error {
	if old, ok := a.s.Options[key]; ok && old == value {
		return nil
	}
	why, isFrozen := frozen[key]
	switch {
	case key == optionPrimaryKey || key == optionPartition:
		why = "files and folders that are stored are laid out by it"
	case !isFrozen || !a.o.HasSnapshots:
		return nil
	}
	e := wrong(diag.CodeBadOption, "make a new table with it and copy the rows", "it cannot change any more: %s", why)
	e.Option = key
	return e
}

// bucketChange lets a number of buckets become another one, nothing else.
func (a *alteration) bucketChange(text string) error {
	old, err := a.s.Bucket()
	if err != nil || !a.o.HasSnapshots {
		return nil //nolint:nilerr // a value that cannot be read may be replaced
	}
	next, err := strconv.Atoi(strings.TrimSpace(text))
	if err == nil && (next == old || next > 0 && old > 0) {
		return nil
	}
	e := wrong(diag.CodeBadOption, "make a new table with it and copy the rows",
		"%d cannot become %s: rows that are stored lie in another kind of buckets", old, text)
	e.Option = spec.OptionBucket
	return e
}
