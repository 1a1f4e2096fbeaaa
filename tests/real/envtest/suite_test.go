// SPDX-License-Identifier: Apache-2.0

// A controller-runtime suite as operators' authors write them. Nothing in it knows which API server KUBEBUILDER_ASSETS
// holds.
package envtest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"athanor.dev/real/envtest/greeting"
)

const lease = "greetings.demo.athanor.dev"

var (
	environment *envtest.Environment
	config      *rest.Config
	direct      client.Client // asks the server itself, no cache
	scheme      = runtime.NewScheme()
)

func newManager(id string) (ctrl.Manager, error) {
	hooks := environment.WebhookInstallOptions
	return ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              id,
		LeaderElectionNamespace:       "default",
		LeaderElectionReleaseOnCancel: true,
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: hooks.LocalServingHost, Port: hooks.LocalServingPort, CertDir: hooks.LocalServingCertDir}),
	})
}

func run(tests *testing.M) (int, error) {
	log.SetLogger(zap.New(zap.WriteTo(os.Stderr)))
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(greeting.AddToScheme(scheme))
	environment = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join("config", "crd")},
		ErrorIfCRDPathMissing: true,
		WebhookInstallOptions: envtest.WebhookInstallOptions{Paths: []string{filepath.Join("config", "webhook")}},
	}
	start := time.Now()
	var err error
	if config, err = environment.Start(); err != nil {
		return 1, err
	}
	defer func() {
		start := time.Now()
		if err := environment.Stop(); err != nil {
			fmt.Println("the environment did not stop:", err)
		}
		fmt.Printf("environment stopped in %.3f s\n", time.Since(start).Seconds())
	}()
	fmt.Printf("environment started in %.3f s\n", time.Since(start).Seconds())
	if direct, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return 1, err
	}
	manager, err := newManager(lease)
	if err != nil {
		return 1, err
	}
	if err := greeting.SetupWithManager(manager, true); err != nil {
		return 1, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			fmt.Println("the manager ended with:", err)
		}
	}()
	// The webhooks listen: from now on the server can ask them.
	err = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) {
			return manager.GetWebhookServer().StartedChecker()(nil) == nil, nil
		})
	if err != nil {
		return 1, err
	}
	return tests.Run(), nil
}

func TestMain(tests *testing.M) {
	code, err := run(tests)
	if err != nil {
		fmt.Println("the suite could not start:", err)
		code = 1
	}
	os.Exit(code)
}

// within waits until a condition holds.
func within(t *testing.T, what string, condition func() (bool, error)) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 20*time.Second, true,
		func(context.Context) (bool, error) { return condition() })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// namespace makes one of the test's own.
func namespace(t *testing.T) string {
	t.Helper()
	ns := &corev1.Namespace{}
	ns.GenerateName = "test-"
	if err := direct.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}
