package cdc

import "testing"

func TestOnlineChangeOf(t *testing.T) {
	t.Parallel()
	isTable := func(name string) bool { return name == "t" || name == "_u" || name == "x_new" }
	for name, want := range map[string]string{
		"_t_gho": "t", "_t_ghc": "t", "_t_del": "t", "_t_20260102030405_del": "t", "_t_new": "t", "__t_new": "t", "_t_old": "t",
		"__u_gho": "_u", "_x_new_new": "x_new",
		"t_new": "", "t": "", "_t": "", "_v_new": "", "_new": "", "__new": "", "_t_gho2": "", "_t_2026_del": "", "x_new": "",
	} {
		if got := OnlineChangeOf(name, isTable); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

func TestReplaces(t *testing.T) {
	t.Parallel()
	for n, want := range map[name]bool{
		{"shop", "_orders_gho"}: true, {"shop", "_orders_new"}: true, {"shop", "__orders_new"}: true, {"SHOP", "_Orders_GHO"}: true,
		{"shop", "_orders_del"}: false, {"shop", "_orders_old"}: false, {"other", "_orders_gho"}: false, {"shop", "orders_new"}: false, {"shop", "_others_gho"}: false,
	} {
		tab := &table{def: Table{Database: "shop", Name: "orders"}}
		if got := replaces([]name{{"shop", "orders"}, n}, tab); got != want {
			t.Errorf("%v: %v, want %v", n, got, want)
		}
	}
}
