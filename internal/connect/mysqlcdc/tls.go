package mysqlcdc

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"leat/configs"
	"leat/internal/diag"
)

// encrypts reports whether connections use TLS, verifies whether they check the
// server's certificate, as the driver's sslMode has it.
func encrypts(v configs.Values) bool {
	return useSSL.Get(v) || requireSSL.Get(v) || sslMode.Get(v) != "DISABLED"
}

func verifies(v configs.Values) bool {
	mode := sslMode.Get(v)
	return mode == "VERIFY_CA" || mode == "VERIFY_IDENTITY"
}

// tlsConfig gives the TLS settings, nil for a plain connection. Its files are read
// when a connection is made.
func tlsConfig(v configs.Values) *tls.Config {
	if !encrypts(v) {
		return nil
	}
	// The check of the library, which is for web sites, always looks at the name.
	c := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
	if verifies(v) {
		c.ServerName = hostname.Get(v)
		name := ""
		if sslMode.Get(v) == "VERIFY_IDENTITY" {
			name = c.ServerName
		}
		ca := tlsCA.Get(v)
		c.VerifyConnection = func(s tls.ConnectionState) error { return verify(s.PeerCertificates, ca, name) }
	}
	if cert, key := tlsCert.Get(v), tlsKey.Get(v); cert != "" {
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				return nil, tlsError("reading the client's certificate", "check 'leat.tls.cert-file' and 'leat.tls.key-file'", err)
			}
			return &pair, nil
		}
	}
	return c
}

// verify checks the certificates of a server: that the first one leads to an
// authority of file ca (of the system, if it is empty), and is made out to name,
// if there is one.
func verify(certs []*x509.Certificate, ca, name string) error {
	if len(certs) == 0 {
		return tlsError("the server shows no certificate", "give it one, or set 'jdbc.properties.sslMode' = 'REQUIRED'", nil)
	}
	opts := x509.VerifyOptions{DNSName: name, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}
	if ca != "" {
		pem, err := os.ReadFile(ca)
		if err != nil {
			return tlsError("reading the authorities", "check 'leat.tls.ca-file'", err)
		}
		if opts.Roots = x509.NewCertPool(); !opts.Roots.AppendCertsFromPEM(pem) {
			return tlsError("there is no certificate in "+ca, "give a PEM file as 'leat.tls.ca-file'", nil)
		}
	}
	for _, c := range certs[1:] {
		opts.Intermediates.AddCert(c)
	}
	if _, err := certs[0].Verify(opts); err != nil {
		hint := "give the authority that signed it as 'leat.tls.ca-file'"
		if name != "" {
			hint += ", or leave the name out of the check by 'jdbc.properties.sslMode' = 'VERIFY_CA'"
		}
		return tlsError("the server's certificate cannot be trusted", hint, fmt.Errorf("checking it: %w", err))
	}
	return nil
}

func tlsError(msg, hint string, cause error) error {
	return &diag.Error{Domain: diag.External, Code: diag.CodeSourceAuth, Msg: msg, Hint: hint, Cause: cause}
}
