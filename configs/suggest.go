package configs

import "strings"

// Nearest gives the word of list nearest to word by edit distance, "" if none is
// near enough to be what was meant (at most a third of its letters differ).
func Nearest(word string, list []string) string {
	best, bestD := "", len(word)/3+1
	for _, w := range list {
		if d := editDistance(strings.ToLower(word), strings.ToLower(w), bestD); d < bestD {
			best, bestD = w, d
		}
	}
	return best
}

// editDistance is the Damerau-Levenshtein distance (adjacent swaps count one),
// given up at limit.
func editDistance(a, b string, limit int) int {
	if abs := len(a) - len(b); abs >= limit || -abs >= limit {
		return limit
	}
	var before []int
	prev := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur := make([]int, len(b)+1)
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev = prev, cur
	}
	return prev[len(b)]
}
