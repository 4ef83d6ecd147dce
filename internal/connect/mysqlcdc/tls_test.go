package mysqlcdc

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"leat/configs"
	"leat/internal/diag"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, dir: t.TempDir()}
	a.cert, a.key = a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, "ca")
	return a
}

// sign makes NAME.pem and NAME.key in the authority's folder.
func (a *authority) sign(template *x509.Certificate, name string) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber, template.Subject = big.NewInt(time.Now().UnixNano()), pkix.Name{CommonName: name}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, by := a.cert, a.key
	if parent == nil {
		parent, by = template, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, by)
	if err != nil {
		a.t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{".pem": {Type: "CERTIFICATE", Bytes: raw}, ".key": {Type: "PRIVATE KEY", Bytes: secret}} {
		if err := os.WriteFile(a.file(name+file), pem.EncodeToMemory(block), 0o600); err != nil {
			a.t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

func (a *authority) file(name string) string { return filepath.Join(a.dir, name) }

// TestTLSModes makes connections to a server whose certificate is made out to
// another name than it is called by, as those that MySQL makes for itself are.
func TestTLSModes(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	ca.sign(&x509.Certificate{DNSNames: []string{"db.test"}}, "server")
	ca.sign(&x509.Certificate{}, "client")
	junk := ca.file("junk.pem")
	if err := os.WriteFile(junk, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, mode, ca, host string
		client, needsClient  bool
		plain, refused       bool
	}{
		{name: "disabled", mode: "DISABLED", plain: true},
		{name: "required", mode: "REQUIRED"},
		{name: "preferred", mode: "PREFERRED"},
		{name: "chain", mode: "VERIFY_CA", ca: ca.file("ca.pem"), host: "127.0.0.1"},
		{name: "chain of another", mode: "VERIFY_CA", ca: other.file("ca.pem"), host: "db.test", refused: true},
		{name: "chain of the system", mode: "VERIFY_CA", host: "db.test", refused: true},
		{name: "name", mode: "VERIFY_IDENTITY", ca: ca.file("ca.pem"), host: "db.test"},
		{name: "another name", mode: "VERIFY_IDENTITY", ca: ca.file("ca.pem"), host: "127.0.0.1", refused: true},
		{name: "name, chain of another", mode: "VERIFY_IDENTITY", ca: other.file("ca.pem"), host: "db.test", refused: true},
		{name: "no file", mode: "VERIFY_CA", ca: ca.file("none.pem"), host: "db.test", refused: true},
		{name: "no certificate", mode: "VERIFY_CA", ca: junk, host: "db.test", refused: true},
		{name: "client", mode: "REQUIRED", client: true, needsClient: true},
		{name: "no client", mode: "REQUIRED", needsClient: true, refused: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := configs.Values{"jdbc.properties.sslMode": {Text: c.mode}, "hostname": {Text: c.host}}
			if c.ca != "" {
				v["leat.tls.ca-file"] = configs.Value{Text: c.ca}
			}
			if c.client {
				v["leat.tls.cert-file"], v["leat.tls.key-file"] = configs.Value{Text: ca.file("client.pem")}, configs.Value{Text: ca.file("client.key")}
			}
			conf := tlsConfig(v)
			if c.plain {
				if conf != nil {
					t.Fatal("a plain connection has TLS settings")
				}
				return
			}
			err := handshake(t, ca, conf, c.needsClient)
			if (err != nil) != c.refused {
				t.Fatalf("the handshake gives %v", err)
			}
			var e *diag.Error
			if c.refused && !c.needsClient && (!errors.As(err, &e) || e.Hint == "") {
				t.Errorf("no remedy: %v", err)
			}
		})
	}
}

// handshake gives the client's error, or that of the server where it has the say.
func handshake(t *testing.T, ca *authority, client *tls.Config, needsClient bool) error {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(ca.file("server.pem"), ca.file("server.key"))
	if err != nil {
		t.Fatal(err)
	}
	server := &tls.Config{Certificates: []tls.Certificate{pair}}
	if needsClient {
		server.ClientAuth, server.ClientCAs = tls.RequireAndVerifyClientCert, x509.NewCertPool()
		server.ClientCAs.AddCert(ca.cert)
	}
	left, right := net.Pipe()
	defer left.Close()
	defer right.Close()
	said := make(chan error, 1)
	go func() {
		s := tls.Server(right, server)
		said <- s.Handshake()
		right.Close()
	}()
	err = tls.Client(left, client).Handshake()
	left.Close()
	return errors.Join(err, <-said)
}
