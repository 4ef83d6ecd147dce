package e2e

import "embed"

// Oracle is the Maven project over the real Paimon library.
//
//go:embed oracle/pom.xml oracle/src
var Oracle embed.FS

// PyPaimon is the script over the Python reader, with its requirements.
//
//go:embed pypaimon/*.py pypaimon/requirements.txt
var PyPaimon embed.FS
