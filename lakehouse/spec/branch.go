package spec

// MainBranch is the name of the branch that a table has from the start.
const MainBranch = "main"

// BranchPrefix begins the directory names of branches.
const BranchPrefix = "branch-"

// BranchPath gives the directory with the schemas, snapshots and tags of a
// branch of the table at root; that of branch "" and of main is root itself.
func BranchPath(join func(...string) string, root, branch string) string {
	if branch == "" || branch == MainBranch {
		return root
	}
	return join(root, BranchDir, BranchPrefix+branch)
}
