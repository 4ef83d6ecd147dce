package expr

import (
	"crypto/md5"  //nolint:gosec // MD5 is a function of the dialect, not a safeguard.
	"crypto/sha1" //nolint:gosec // As above.
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"strconv"
	"strings"

	"leat/internal/columnar"
)

var hashFunctions = []*function{
	hashFunction("MD5", 32, func(b, s []byte) []byte { h := md5.Sum(s); return hex.AppendEncode(b, h[:]) }),   //nolint:gosec // A function of the dialect.
	hashFunction("SHA1", 40, func(b, s []byte) []byte { h := sha1.Sum(s); return hex.AppendEncode(b, h[:]) }), //nolint:gosec // A function of the dialect.
	hashFunction("SHA224", 56, sha224),
	hashFunction("SHA256", 64, sha256Hex),
	hashFunction("SHA384", 96, sha384),
	hashFunction("SHA512", 128, sha512Hex),
	{name: "SHA2", minArgs: 2, maxArgs: 2, bind: bindSHA2, build: buildSHA2},
	{name: "HEX", minArgs: 1, maxArgs: 1, bind: bindHex, build: buildHex},
	{name: "BIN", minArgs: 1, maxArgs: 1, bind: takes(following(columnar.StringType()), bigIntParam), build: building(func() loop {
		return textRows(func(in []*vector, i int, out *scratch) (string, bool) {
			start := len(out.arena)
			out.arena = strconv.AppendUint(out.arena, uint64(values[int64](in[0])[i]), 2)
			return out.since(start), true
		})
	})},
}

func sha224(b, s []byte) []byte    { h := sha256.Sum224(s); return hex.AppendEncode(b, h[:]) }
func sha256Hex(b, s []byte) []byte { h := sha256.Sum256(s); return hex.AppendEncode(b, h[:]) }
func sha384(b, s []byte) []byte    { h := sha512.Sum384(s); return hex.AppendEncode(b, h[:]) }
func sha512Hex(b, s []byte) []byte { h := sha512.Sum512(s); return hex.AppendEncode(b, h[:]) }

// sha2 is the hash of SHA2(s, bits).
var sha2 = map[string]func(b, s []byte) []byte{
	"224": sha224, "256": sha256Hex, "384": sha384, "512": sha512Hex,
}

func hashFunction(name string, length int, appendHash func(b, s []byte) []byte) *function {
	return &function{
		name: name, minArgs: 1, maxArgs: 1,
		bind:  takes(following(columnar.DataType{Kind: columnar.Char, Length: length}), textParam),
		build: building(func() loop { return hashLoop(appendHash) }),
	}
}

func hashLoop(appendHash func(b, s []byte) []byte) loop {
	var copied []byte
	return textRows(func(in []*vector, i int, out *scratch) (string, bool) {
		start := len(out.arena)
		copied = append(copied[:0], in[0].strs[i]...)
		out.arena = appendHash(out.arena, copied)
		return out.since(start), true
	})
}

func bindSHA2(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	if _, ok := sha2[String(args[1])]; !ok {
		return columnar.DataType{}, nil, argError(f, args, "write SHA2(s, n) with 224, 256, 384 or 512 for n")
	}
	return takes(following(columnar.DataType{Kind: columnar.VarChar, Length: 128}), textParam, intParam)(f, args)
}

func buildSHA2(c *compiler, e *callExpr) (node, error) {
	return c.loopOver(e, hashLoop(sha2[String(e.args[1])]))
}

func bindHex(f *function, args []Expr) (columnar.DataType, []Expr, error) {
	p := textParam
	if args[0].Type().IsInteger() {
		p = bigIntParam
	}
	p.what = "integer or string"
	return takes(following(columnar.StringType()), p)(f, args)
}

func buildHex(c *compiler, e *callExpr) (node, error) {
	if e.args[0].Type().IsText() {
		return c.loopOver(e, textRows(func(in []*vector, i int, _ *scratch) (string, bool) {
			return strings.ToUpper(hex.EncodeToString([]byte(in[0].strs[i]))), true
		}))
	}
	return c.loopOver(e, textRows(func(in []*vector, i int, _ *scratch) (string, bool) {
		return strings.ToUpper(strconv.FormatUint(uint64(values[int64](in[0])[i]), 16)), true
	}))
}
