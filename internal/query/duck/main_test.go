package duck_test

import (
	"os"
	"testing"

	"leat/internal/columnar"
)

func TestMain(m *testing.M) {
	columnar.PoisonReleased = true
	os.Exit(m.Run())
}
