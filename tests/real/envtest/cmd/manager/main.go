// SPDX-License-Identifier: Apache-2.0

// The operator as a program: installs its kind and its webhooks, elects a leader, reconciles. The API server is that of
// --kubeconfig, or of $KUBECONFIG. Webhooks are reached on loopback, under a certificate of this run.
package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"flag"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"athanor.dev/real/envtest/greeting"
)

// certificate writes tls.crt and tls.key for 127.0.0.1 into a folder, and returns the former.
func certificate(folder string) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "greeting-webhooks"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(filepath.Join(folder, "tls.crt"), text, 0o600); err != nil {
		return nil, err
	}
	return text, os.WriteFile(filepath.Join(folder, "tls.key"),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600)
}

// hooks reads the configurations of the webhooks and points them at this process.
func hooks(path, address string, bundle []byte) ([]client.Object, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	parts := bytes.Split(text, []byte("\n---\n"))
	mutating, validating := &admissionv1.MutatingWebhookConfiguration{}, &admissionv1.ValidatingWebhookConfiguration{}
	if err := yaml.Unmarshal(parts[0], mutating); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(parts[1], validating); err != nil {
		return nil, err
	}
	at := func(config *admissionv1.WebhookClientConfig) {
		url := "https://" + address + *config.Service.Path
		*config = admissionv1.WebhookClientConfig{URL: &url, CABundle: bundle}
	}
	for i := range mutating.Webhooks {
		at(&mutating.Webhooks[i].ClientConfig)
	}
	for i := range validating.Webhooks {
		at(&validating.Webhooks[i].ClientConfig)
	}
	return []client.Object{mutating, validating}, nil
}

func run(ctx context.Context, configDir, certDir string, port int) error {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, greeting.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{
		Scheme: scheme, Paths: []string{filepath.Join(configDir, "crd")}, ErrorIfPathMissing: true}); err != nil {
		return err
	}
	bundle, err := certificate(certDir)
	if err != nil {
		return err
	}
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, Metrics: server.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: "greetings.demo.athanor.dev", LeaderElectionNamespace: "default",
		LeaderElectionReleaseOnCancel: true,
		WebhookServer:                 webhook.NewServer(webhook.Options{Host: "127.0.0.1", Port: port, CertDir: certDir})})
	if err != nil {
		return err
	}
	if err := greeting.SetupWithManager(manager, true); err != nil {
		return err
	}
	direct, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	objects, err := hooks(filepath.Join(configDir, "webhook", "webhooks.yaml"), fmt.Sprintf("127.0.0.1:%d", port), bundle)
	if err != nil {
		return err
	}
	for _, object := range objects {
		object.SetManagedFields(nil)
		if err := direct.Patch(ctx, object, client.Apply, client.FieldOwner("greetings"), client.ForceOwnership); err != nil { //nolint:staticcheck
			return err
		}
	}
	go func() {
		<-manager.Elected()
		fmt.Println("leading", metav1.Now().UTC().Format(time.RFC3339))
	}()
	return manager.Start(ctx)
}

func main() {
	configDir := flag.String("config", "config", "folder of the definitions")
	certDir := flag.String("certs", "", "folder for the webhooks' certificate")
	port := flag.Int("port", 9443, "port of the webhooks on 127.0.0.1")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	if err := run(ctrl.SetupSignalHandler(), *configDir, *certDir, *port); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
