package buckets

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"leat/e2e/judge"
	"leat/internal/columnar"
	"leat/lakehouse/mergetree"
	"leat/lakehouse/spec"
)

// question asks which runs a strategy compacts; runs are [level, size].
type question struct {
	Trigger int        `json:"trigger"`
	Amp     int        `json:"amp"`
	Ratio   int        `json:"ratio"`
	Levels  int        `json:"levels"`
	Total   int64      `json:"total"`
	Force   bool       `json:"force"`
	Full    bool       `json:"full"`
	Anew    bool       `json:"anew"`
	Runs    [][2]int64 `json:"runs"`
}

// answer is the level that the files at these positions go to; -1 for nothing.
type answer struct {
	Level int32 `json:"level"`
	Files []int `json:"files"`
}

// TestPicksEqualJava asks both which runs they compact, of random buckets.
func TestPicksEqualJava(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(2026, 1))
	var questions []question
	var input string
	for range 3000 {
		q := someRuns(rnd)
		questions = append(questions, q)
		line, err := json.Marshal(q)
		if err != nil {
			t.Fatal(err)
		}
		input += string(line) + "\n"
	}
	lines, err := judge.Java(t).Call(input, "picks")
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != len(questions) {
		t.Fatalf("%d answers to %d questions", len(lines), len(questions))
	}
	picked := 0
	for i, q := range questions {
		var want answer
		if err := json.Unmarshal(lines[i], &want); err != nil {
			t.Fatal(err)
		}
		if want.Level >= 0 {
			picked++
		}
		if d := cmp.Diff(want, q.ask(t)); d != "" {
			t.Errorf("%+v (-java +leat):\n%s", q, d)
		}
	}
	if picked < 500 {
		t.Errorf("only %d questions were about something", picked)
	}
}

func someRuns(rnd *rand.Rand) question {
	q := question{
		Trigger: 2 + rnd.IntN(5), Amp: []int{200, 50, 1000}[rnd.IntN(3)], Ratio: []int{1, 20}[rnd.IntN(2)], Levels: 3 + rnd.IntN(5), Force: rnd.IntN(3) == 0,
	}
	if rnd.IntN(4) == 0 {
		q.Total = 1 << rnd.IntN(20)
	}
	if rnd.IntN(5) == 0 {
		q.Full, q.Anew = true, rnd.IntN(2) == 0
	}
	for range rnd.IntN(8) {
		q.Runs = append(q.Runs, [2]int64{0, 1 << rnd.IntN(12)})
	}
	for level := 1; level < q.Levels; level++ {
		if rnd.IntN(3) == 0 {
			q.Runs = append(q.Runs, [2]int64{int64(level), 1 << rnd.IntN(20)})
		}
	}
	return q
}

// ask lets leat answer.
func (q *question) ask(t *testing.T) answer {
	t.Helper()
	key := []columnar.DataType{columnar.Of(columnar.Int)}
	files := make([]spec.DataFileMeta, len(q.Runs))
	for i, r := range q.Runs {
		files[i] = spec.DataFileMeta{FileName: fmt.Sprint(i), Level: int32(r[0]), FileSize: r[1], MaxSequenceNumber: int64(len(q.Runs) - i)}
	}
	u := mergetree.NewUniversal(mergetree.UniversalOptions{
		Trigger: q.Trigger, Levels: q.Levels, MaxSizeAmp: q.Amp, SizeRatio: q.Ratio, SizeThreshold: q.Total, ForceRewrite: q.Anew,
	})
	runs := mergetree.Runs(files, mergetree.NewKeyOrder(key))
	var unit mergetree.Unit
	var ok bool
	switch {
	case q.Full:
		unit, ok = u.Full(runs, nil)
	case q.Force:
		unit, ok = u.Lift(runs, time.Now())
	default:
		unit, ok = u.Pick(runs, time.Now())
	}
	if !ok {
		return answer{Level: -1}
	}
	a := answer{Level: unit.Output}
	for i := range unit.Files {
		n, err := strconv.Atoi(unit.Files[i].FileName)
		if err != nil {
			t.Fatal(err)
		}
		a.Files = append(a.Files, n)
	}
	return a
}
