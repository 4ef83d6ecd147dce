package lakehouse_test

import (
	"testing"

	"go.uber.org/goleak"

	"leat/internal/columnar"
)

func TestMain(m *testing.M) {
	columnar.PoisonReleased = true
	goleak.VerifyTestMain(m)
}
