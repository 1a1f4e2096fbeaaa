// SPDX-License-Identifier: Apache-2.0

// A controller-runtime manager with the informer of the benchmark: every ConfigMap of one namespace,
// without managedFields. Prints a line once its cache is filled, and goes on until SIGTERM.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "manager:", err)
		os.Exit(1)
	}
}

func main() {
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: manager KUBECONFIG NAMESPACE"))
	}
	ctrl.SetLogger(zap.New())
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	fail(err)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{os.Args[2]: {}},
			DefaultTransform:  cache.TransformStripManagedFields(),
		},
	})
	fail(err)
	err = ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Complete(
		reconcile.Func(func(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
			var one corev1.ConfigMap
			return reconcile.Result{}, client.IgnoreNotFound(manager.GetClient().Get(ctx, request.NamespacedName, &one))
		}))
	fail(err)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	go func() {
		if manager.GetCache().WaitForCacheSync(ctx) {
			fmt.Println("synced")
		}
	}()
	fail(manager.Start(ctx))
}
