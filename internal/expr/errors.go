package expr

import (
	"fmt"

	"leat/internal/columnar"
	"leat/internal/diag"
)

// typeError is a type that does not fit; hint says what to write.
func typeError(hint, format string, args ...any) *diag.Error {
	return &diag.Error{Domain: diag.User, Code: diag.CodeType, Msg: fmt.Sprintf(format, args...), Hint: hint}
}

func errBareNull() *diag.Error {
	return typeError("write CAST(NULL AS type)", "NULL has no type here")
}

// valueError is a value that e cannot take.
func valueError(e Expr, hint, format string, args ...any) *diag.Error {
	return &diag.Error{
		Domain: diag.User, Code: diag.CodeRuntimeValue, Hint: hint,
		Msg: String(e) + ": " + fmt.Sprintf(format, args...),
	}
}

func typeName(t columnar.DataType) string {
	if t.Kind == columnar.Invalid {
		return "NULL"
	}
	return t.AsNullable().String()
}
