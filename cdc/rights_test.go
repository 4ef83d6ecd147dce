package cdc

import "testing"

func TestReadRights(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		grants     []string
		everything bool
		databases  []string
		not        []string
	}{
		{"all of everything", []string{"GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost` WITH GRANT OPTION"}, true, []string{"shop"}, nil},
		{"select on everything", []string{"GRANT RELOAD, SELECT, REPLICATION SLAVE ON *.* TO `leat`@`%`"}, true, []string{"shop"}, nil},
		{"one database", []string{"GRANT USAGE ON *.* TO `leat`@`%`", "GRANT SELECT ON `shop`.* TO `leat`@`%`"}, false, []string{"shop"}, []string{"other"}},
		{"signs of a name", []string{"GRANT SELECT ON `my\\_shop`.* TO `leat`@`%`", "GRANT SELECT ON `a``b`.* TO `leat`@`%`"}, false, []string{"my_shop", "a`b"}, []string{"myxshop"}},
		{"a pattern", []string{"GRANT SELECT ON `shop%`.* TO `leat`@`%`"}, false, nil, []string{"shop", "shop%"}},
		{"one table", []string{"GRANT SELECT ON `shop`.`orders` TO `leat`@`%`"}, false, nil, []string{"shop"}},
		{"some columns", []string{"GRANT SELECT (`id`), INSERT ON `shop`.* TO `leat`@`%`"}, false, nil, []string{"shop"}},
		{"no select", []string{"GRANT INSERT, SHOW VIEW ON *.* TO `leat`@`%`"}, false, nil, []string{"shop"}},
		{"parts revoked", []string{"GRANT SELECT ON *.* TO `leat`@`%`", "REVOKE SELECT ON `secret`.* FROM `leat`@`%`"}, false, nil, []string{"shop", "secret"}},
		{"a role", []string{"GRANT USAGE ON *.* TO `leat`@`%`", "GRANT `reader`@`%` TO `leat`@`%`"}, false, nil, []string{"shop"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := rightsOf(tt.grants)
			if r.everything != tt.everything {
				t.Errorf("everything is %v", r.everything)
			}
			for _, d := range tt.databases {
				if !r.all(d) {
					t.Errorf("%s may not be read", d)
				}
			}
			for _, d := range tt.not {
				if r.all(d) {
					t.Errorf("%s may be read", d)
				}
			}
		})
	}
}
