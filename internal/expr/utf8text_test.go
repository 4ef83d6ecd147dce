package expr

import "testing"

// TestBytesDecodeAsInJava has the results of new String(bytes, UTF_8) of a JDK 17.
func TestBytesDecodeAsInJava(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[string]string{
		"":                          "",
		"aé日😀":                      "aé日😀",
		"\xff":                      "�",
		"a\xffb":                    "a�b",
		"\xc0\xaf":                  "��",
		"\xe3\x81":                  "�",
		"\xe3\x81a":                 "�a",
		"\xe0\x80\x80":              "���",
		"\xed\xa0\x80":              "�",
		"\xed\xa0\x80\xed\xb0\x80x": "��x",
		"\xf0\x9f\x98":              "�",
		"\xf0\x9f\x98x":             "�x",
		"\xf0\x80\x80\x80":          "����",
		"\xf4\x90\x80\x80":          "����",
		"\xf5\x80":                  "��",
		"\xe6\x97\xe6\x97\xa5":      "�日",
		"\x80\x80z":                 "��z",
		"é\xc3":                     "é�",
	} {
		if got := decoded(&scratch{}, bytes); got != want {
			t.Errorf("%q: %q, want %q", bytes, got, want)
		}
	}
}
