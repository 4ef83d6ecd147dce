package mysqlrow

import (
	"strconv"

	"leat/internal/columnar"
)

// intSink gives what stores the integers of a source column as t.
func intSink(t columnar.DataType, unsigned64 bool) func(*cell, *vec, int64) status {
	switch t.Kind {
	case columnar.Boolean:
		return putBool
	case columnar.TinyInt:
		return putInt8
	case columnar.SmallInt:
		return putInt16
	case columnar.Int:
		return putInt32
	case columnar.BigInt:
		if unsigned64 {
			return putUint64
		}
		return putInt64
	case columnar.Float:
		return putIntFloat32
	case columnar.Double:
		return putIntFloat64
	case columnar.Decimal:
		if unsigned64 {
			return putUintDecimal
		}
		return putIntDecimal
	default:
		if unsigned64 {
			return putUintText
		}
		return putIntText
	}
}

// putBool takes every number but 0 as true, as MySQL does in a condition.
func putBool(_ *cell, v *vec, x int64) status {
	b := int8(1)
	switch x {
	case 0:
		b = 0
	case 1:
	default:
		v.seen.OddBooleans++
	}
	v.i8 = append(v.i8, b)
	return okay
}

func putInt8(_ *cell, v *vec, x int64) status {
	if int64(int8(x)) != x {
		return outOfRange
	}
	v.i8 = append(v.i8, int8(x))
	return okay
}

func putInt16(_ *cell, v *vec, x int64) status {
	if int64(int16(x)) != x {
		return outOfRange
	}
	v.i16 = append(v.i16, int16(x))
	return okay
}

func putInt32(_ *cell, v *vec, x int64) status {
	if int64(int32(x)) != x {
		return outOfRange
	}
	v.i32 = append(v.i32, int32(x))
	return okay
}

func putInt64(_ *cell, v *vec, x int64) status {
	v.i64 = append(v.i64, x)
	return okay
}

// putUint64 takes the bits of a BIGINT UNSIGNED, half of which do not fit.
func putUint64(_ *cell, v *vec, x int64) status {
	if x < 0 {
		return outOfRange
	}
	v.i64 = append(v.i64, x)
	return okay
}

func putIntFloat32(_ *cell, v *vec, x int64) status {
	v.f32 = append(v.f32, float32(x))
	return okay
}

func putIntFloat64(_ *cell, v *vec, x int64) status {
	v.f64 = append(v.f64, float64(x))
	return okay
}

func putIntDecimal(c *cell, v *vec, x int64) status {
	if x < 0 {
		return c.putDigits(v, true, u128{lo: -uint64(x)})
	}
	return c.putDigits(v, false, u128{lo: uint64(x)})
}

func putUintDecimal(c *cell, v *vec, x int64) status {
	return c.putDigits(v, false, u128{lo: uint64(x)})
}

func putIntText(_ *cell, v *vec, x int64) status {
	v.data = strconv.AppendInt(v.data, x, 10)
	return v.endText()
}

func putUintText(_ *cell, v *vec, x int64) status {
	v.data = strconv.AppendUint(v.data, uint64(x), 10)
	return v.endText()
}
