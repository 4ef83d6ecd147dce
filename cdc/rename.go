package cdc

// columnRename is a column that a statement gives another name.
type columnRename struct{ from, to string }

// renamedColumns reads RENAME COLUMN a TO b and CHANGE [COLUMN] a b … of a
// statement. What it reads is checked against the columns before and after.
func renamedColumns(statement string) []columnRename {
	w := words(statement)
	var out []columnRename
	name := func(i int) bool { return i < len(w) && !w[i].literal && (w[i].quoted || isWord(w[i].text[0])) }
	for i := range w {
		switch {
		case w[i].is("RENAME") && i+4 < len(w) && w[i+1].is("COLUMN"):
			j := i + 2
			if j+4 < len(w) && w[j].is("IF") && w[j+1].is("EXISTS") {
				j += 2
			}
			if name(j) && w[j+1].is("TO") && name(j+2) {
				out = append(out, columnRename{w[j].text, w[j+2].text})
			}
		case w[i].is("CHANGE"):
			j := i + 1
			if j < len(w) && w[j].is("COLUMN") && name(j+2) {
				j++
			}
			if j+2 < len(w) && w[j].is("IF") && w[j+1].is("EXISTS") {
				j += 2
			}
			if name(j) && name(j+1) {
				out = append(out, columnRename{w[j].text, w[j+1].text})
			}
		}
	}
	return out
}

// droppedColumns reads DROP [COLUMN] [IF EXISTS] a of a statement. What it reads is
// checked against the columns before and after, as DROP PRIMARY KEY reads like one, too.
func droppedColumns(statement string) []string {
	w := words(statement)
	var out []string
	for i := range w {
		if !w[i].is("DROP") {
			continue
		}
		j := i + 1
		if j+1 < len(w) && w[j].is("COLUMN") {
			j++
		}
		if j+2 < len(w) && w[j].is("IF") && w[j+1].is("EXISTS") {
			j += 2
		}
		if j < len(w) && !w[j].literal && (w[j].quoted || isWord(w[j].text[0])) {
			out = append(out, w[j].text)
		}
	}
	return out
}
