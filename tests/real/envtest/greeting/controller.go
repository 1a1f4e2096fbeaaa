// SPDX-License-Identifier: Apache-2.0

package greeting

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Finalizer keeps a Greeting until its farewell is written.
const Finalizer = "demo.athanor.dev/farewell"

// Reconciler makes ConfigMaps of Greetings.
type Reconciler struct {
	client.Client
	Events events.EventRecorder
}

// Message is the text that a Greeting stands for.
func Message(spec Spec) string {
	return strings.TrimSpace(strings.Repeat("hello, "+spec.Name+"! ", int(max(spec.Count, 1))))
}

// Reconcile brings one Greeting's ConfigMap, finalizer and status up to date.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var greeting Greeting
	if err := r.Get(ctx, request.NamespacedName, &greeting); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !greeting.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.sayFarewell(ctx, &greeting)
	}
	if controllerutil.AddFinalizer(&greeting, Finalizer) {
		if err := r.Update(ctx, &greeting); err != nil {
			return ctrl.Result{}, err
		}
	}
	text := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: greeting.Namespace, Name: "greeting-" + greeting.Name}}
	change, err := controllerutil.CreateOrUpdate(ctx, r.Client, text, func() error {
		text.Data = map[string]string{"message": Message(greeting.Spec)}
		return controllerutil.SetControllerReference(&greeting, text, r.Scheme())
	})
	if err != nil {
		return ctrl.Result{}, err
	}
	if change == controllerutil.OperationResultCreated {
		r.Events.Eventf(&greeting, text, corev1.EventTypeNormal, "Greeted", "Greet", "wrote %s", text.Name)
	}
	before := greeting.DeepCopyObject().(*Greeting)
	greeting.Status.Message = Message(greeting.Spec)
	greeting.Status.ObservedGeneration = greeting.Generation
	meta.SetStatusCondition(&greeting.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Greeted", ObservedGeneration: greeting.Generation})
	return ctrl.Result{}, r.Status().Patch(ctx, &greeting, client.MergeFrom(before))
}

func (r *Reconciler) sayFarewell(ctx context.Context, greeting *Greeting) error {
	if !controllerutil.ContainsFinalizer(greeting, Finalizer) {
		return nil
	}
	farewell := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: greeting.Namespace, Name: "farewell-" + greeting.Name},
		Data:       map[string]string{"message": "goodbye, " + greeting.Spec.Name}}
	if err := r.Create(ctx, farewell); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	controllerutil.RemoveFinalizer(greeting, Finalizer)
	return client.IgnoreNotFound(r.Update(ctx, greeting))
}

// SetupWithManager adds controller and webhooks. uniqueName: false lets several managers of one process run it.
func SetupWithManager(manager ctrl.Manager, uniqueName bool) error {
	reconciler := &Reconciler{Client: manager.GetClient(), Events: manager.GetEventRecorder("greeting")}
	skip := !uniqueName
	if err := ctrl.NewControllerManagedBy(manager).For(&Greeting{}).Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{SkipNameValidation: &skip}).Complete(reconciler); err != nil {
		return err
	}
	return setUpWebhooks(manager)
}
