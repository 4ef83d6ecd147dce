package console

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/reeflective/readline"

	"leat/internal/fileio"
	"leat/sqlfront"
)

// history keeps entries in a file that only its owner can read, without their
// secrets. A file that cannot be read or written costs the memory, not the console.
type history struct{ readline.History }

func openHistory(ctx context.Context, fs fileio.FS, file string) history {
	if file == "" || fs.MkdirAll(ctx, filepath.Dir(file)) != nil {
		return history{readline.NewInMemoryHistory()}
	}
	// The error is that there is no file yet.
	h, _ := readline.NewHistoryFromFile(file)
	return history{h}
}

// Write adds an entry.
func (h history) Write(text string) (int, error) {
	h.History.Write(withoutSecrets(text)) //nolint:errcheck // see history
	return h.Len(), nil
}

var (
	secretKey   = regexp.MustCompile(`(?i)pass(word|wd|phrase)|secret|token|credential|access[-_.]?key|private[-_.]?key|security[-_.]?key`)
	secretInURL = regexp.MustCompile(`(://[^/@:'\s]*:)[^@'\s]+@`)
)

// withoutSecrets replaces the values of options whose names tell of a secret, and
// passwords in URLs.
func withoutSecrets(text string) string {
	var out strings.Builder
	secret := false
	for _, p := range sqlfront.Pieces(text) {
		piece := text[p.Start:p.End]
		switch {
		case p.Kind == sqlfront.Space || p.Kind == sqlfront.Comment:
		case p.Kind == sqlfront.Operator && (piece == "=" || piece == "=>"):
		case secret && (p.Kind == sqlfront.String || p.Kind == sqlfront.Number):
			piece, secret = "'***'", false
		default:
			secret = secretKey.MatchString(piece)
		}
		out.WriteString(piece)
	}
	return secretInURL.ReplaceAllString(out.String(), "${1}***@")
}
