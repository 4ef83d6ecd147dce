//go:build cgo

package duck

/*
#include <stdint.h>
#include <stdlib.h>

// The one function of DuckDB that is called from here, for a whole column at once.
extern void duckdb_unsafe_vector_assign_string_element_len(void *vector, uint64_t index, const char *text, uint64_t length);

static void leat_assign(void *vector, uint64_t at, const char *data, const int32_t *offsets, uint64_t n) {
	for (uint64_t i = 0; i < n; i++) {
		duckdb_unsafe_vector_assign_string_element_len(vector, at + i, data + offsets[i], (uint64_t)(offsets[i + 1] - offsets[i]));
	}
}

extern void leatDuckBind(void *);
extern void leatDuckInit(void *);
extern void leatDuckLocalInit(void *);
extern void leatDuckFill(void *, void *);
extern void leatDuckCall(void *, void *, void *);
extern void leatDuckDelete(void *);

static void *leat_bind(void) { return (void *)leatDuckBind; }
static void *leat_init(void) { return (void *)leatDuckInit; }
static void *leat_local_init(void) { return (void *)leatDuckLocalInit; }
static void *leat_fill(void) { return (void *)leatDuckFill; }
static void *leat_call(void) { return (void *)leatDuckCall; }
static void *leat_delete(void) { return (void *)leatDuckDelete; }
*/
import "C"

import (
	"runtime/cgo"
	"unsafe"

	db "github.com/duckdb/duckdb-go-bindings"
)

// keep gives C memory that holds a handle of v, and the callback that frees both.
func keep(v any) (held, del unsafe.Pointer) {
	p := C.malloc(C.size_t(unsafe.Sizeof(cgo.Handle(0))))
	*(*cgo.Handle)(p) = cgo.NewHandle(v)
	return p, C.leat_delete()
}

// kept gives what keep was given.
func kept[T any](held unsafe.Pointer) T { return (*cgo.Handle)(held).Value().(T) }

// closer is kept by DuckDB and told when it lets go.
type closer interface{ close() }

//export leatDuckDelete
func leatDuckDelete(held unsafe.Pointer) {
	h := *(*cgo.Handle)(held)
	if c, ok := h.Value().(closer); ok {
		c.close()
	}
	h.Delete()
	C.free(held)
}

//export leatDuckBind
func leatDuckBind(info unsafe.Pointer) { bind(db.BindInfo{Ptr: info}) }

//export leatDuckInit
func leatDuckInit(info unsafe.Pointer) { initialise(db.InitInfo{Ptr: info}) }

//export leatDuckLocalInit
func leatDuckLocalInit(info unsafe.Pointer) { initialiseThread(db.InitInfo{Ptr: info}) }

//export leatDuckFill
func leatDuckFill(info, out unsafe.Pointer) {
	fill(db.FunctionInfo{Ptr: info}, db.DataChunk{Ptr: out})
}

//export leatDuckCall
func leatDuckCall(info, in, out unsafe.Pointer) {
	evaluate(db.FunctionInfo{Ptr: info}, db.DataChunk{Ptr: in}, db.Vector{Ptr: out})
}

// registerRelation makes the table function called name.
func registerRelation(conn db.Connection, name string, r *relationInfo) bool {
	f := db.CreateTableFunction()
	defer db.DestroyTableFunction(&f)
	held, del := keep(r)
	db.TableFunctionSetName(f, name)
	db.TableFunctionSetExtraInfo(f, held, del)
	db.TableFunctionSetBind(f, C.leat_bind())
	db.TableFunctionSetInit(f, C.leat_init())
	db.TableFunctionSetLocalInit(f, C.leat_local_init())
	db.TableFunctionSetFunction(f, C.leat_fill())
	db.TableFunctionSupportsProjectionPushdown(f, true)
	return db.RegisterTableFunction(conn, f) == db.StateSuccess
}

// registerFunction makes the scalar function called name.
func registerFunction(conn db.Connection, name string, x *functionInfo) bool {
	f := db.CreateScalarFunction()
	defer db.DestroyScalarFunction(&f)
	held, del := keep(x)
	db.ScalarFunctionSetName(f, name)
	for i := range x.args {
		t := logicalType(x.args[i])
		db.ScalarFunctionAddParameter(f, t)
		db.DestroyLogicalType(&t)
	}
	t := logicalType(x.result)
	db.ScalarFunctionSetReturnType(f, t)
	db.DestroyLogicalType(&t)
	db.ScalarFunctionSetSpecialHandling(f)
	if x.volatile {
		db.ScalarFunctionSetVolatile(f)
	}
	db.ScalarFunctionSetExtraInfo(f, held, del)
	db.ScalarFunctionSetFunction(f, C.leat_call())
	return db.RegisterScalarFunction(conn, f) == db.StateSuccess
}

// assign copies n texts into a vector from row at on; the offsets count from the
// beginning of data.
func assign(vec db.Vector, at int, data []byte, offsets []int32, n int) {
	if n == 0 {
		return
	}
	var p *C.char
	if len(data) > 0 {
		p = (*C.char)(unsafe.Pointer(unsafe.SliceData(data)))
	}
	C.leat_assign(vec.Ptr, C.uint64_t(at), p, (*C.int32_t)(unsafe.Pointer(unsafe.SliceData(offsets))), C.uint64_t(n))
}
