package open

import (
	"net/url"
	"path/filepath"
	"regexp"

	"leat/internal/diag"
	"leat/internal/fileio"
	"leat/internal/fileio/local"
)

var schemeForm = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]*:`)

// FromURL gives the file system of location and the absolute path in it. A
// relative folder is taken from the working folder.
func FromURL(location string) (fileio.FS, string, error) {
	if location == "" {
		return nil, "", &diag.Error{Domain: diag.User, Code: diag.CodeBadOption, Msg: "the location is empty", Hint: "name a folder, such as /data/lake or file:///data/lake"}
	}
	if !schemeForm.MatchString(location) {
		p, err := filepath.Abs(location)
		if err != nil {
			return nil, "", bad(location, "it cannot be made absolute", err)
		}
		return local.New(), p, nil
	}
	u, err := url.Parse(location)
	if err != nil {
		return nil, "", bad(location, "it is not a URL", err)
	}
	switch {
	case u.Scheme != "file":
		return nil, "", &diag.Error{
			Domain: diag.User, Code: diag.CodeRefusedOption, Msg: "location '" + location + "': leat cannot open " + u.Scheme + ":// yet",
			Hint: "use a local folder, such as file:///data/lake",
		}
	case u.Host != "" && u.Host != "localhost":
		return nil, "", bad(location, "it names host '"+u.Host+"'", nil)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, "", bad(location, "'?' and '#' have to be written as %3F and %23", nil)
	case u.Path == "":
		return nil, "", bad(location, "it names no absolute folder", nil)
	}
	return local.New(), filepath.Clean(u.Path), nil
}

func bad(location, why string, cause error) error {
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeBadOption, Msg: "location '" + location + "': " + why, Cause: cause,
		Hint: "name a folder, such as /data/lake or file:///data/lake (three slashes)",
	}
}
