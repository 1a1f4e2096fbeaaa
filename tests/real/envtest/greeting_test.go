// SPDX-License-Identifier: Apache-2.0

package envtest_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"athanor.dev/real/envtest/greeting"
)

func newGreeting(ns, name, whom string) *greeting.Greeting {
	return &greeting.Greeting{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec:       greeting.Spec{Name: whom},
	}
}

func textOf(ctx context.Context, ns, name string) (string, error) {
	var text corev1.ConfigMap
	err := direct.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &text)
	return text.Data["message"], client.IgnoreNotFound(err)
}

func textIs(ctx context.Context, ns, name, wanted string) func() (bool, error) {
	return func() (bool, error) {
		found, err := textOf(ctx, ns, name)
		return found == wanted, err
	}
}

func TestAGreetingIsReconciled(t *testing.T) {
	ctx, ns := t.Context(), namespace(t)
	one := newGreeting(ns, "one", "ann")
	if err := direct.Create(ctx, one); err != nil {
		t.Fatal(err)
	}
	within(t, "the text is written", textIs(ctx, ns, "greeting-one", "hello, ann!"))
	within(t, "the status says so", func() (bool, error) {
		err := direct.Get(ctx, client.ObjectKeyFromObject(one), one)
		return one.Status.Message == "hello, ann!" && one.Status.ObservedGeneration == 1 &&
			meta.IsStatusConditionTrue(one.Status.Conditions, "Ready"), err
	})
	// A change is followed, and what somebody else deletes is made again.
	one.Spec.Count = 2
	if err := direct.Update(ctx, one); err != nil {
		t.Fatal(err)
	}
	within(t, "the text follows", textIs(ctx, ns, "greeting-one", "hello, ann! hello, ann!"))
	text := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "greeting-one"}}
	if err := direct.Delete(ctx, text); err != nil {
		t.Fatal(err)
	}
	within(t, "the text is written again", textIs(ctx, ns, "greeting-one", "hello, ann! hello, ann!"))
	within(t, "an event tells of it", func() (bool, error) {
		var found eventsv1.EventList
		err := direct.List(ctx, &found, client.InNamespace(ns))
		return len(found.Items) > 0 && found.Items[0].Reason == "Greeted", err
	})
}

func TestAFinalizerHoldsAGreeting(t *testing.T) {
	ctx, ns := t.Context(), namespace(t)
	one := newGreeting(ns, "one", "ben")
	if err := direct.Create(ctx, one); err != nil {
		t.Fatal(err)
	}
	within(t, "the finalizer is set", func() (bool, error) {
		err := direct.Get(ctx, client.ObjectKeyFromObject(one), one)
		return len(one.Finalizers) == 1, err
	})
	if err := direct.Delete(ctx, one); err != nil {
		t.Fatal(err)
	}
	within(t, "the greeting goes", func() (bool, error) {
		err := direct.Get(ctx, client.ObjectKeyFromObject(one), one)
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
	if text, err := textOf(ctx, ns, "farewell-one"); err != nil || text != "goodbye, ben" {
		t.Fatalf("farewell: %q, %v", text, err)
	}
}

func TestTheSchemaRefuses(t *testing.T) {
	ctx, ns := t.Context(), namespace(t)
	for _, wrong := range []*greeting.Greeting{
		newGreeting(ns, "one", ""), newGreeting(ns, "one", strings.Repeat("x", 21)),
		{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "one"}, Spec: greeting.Spec{Name: "x", Count: 11}}} {
		if err := direct.Create(ctx, wrong); !apierrors.IsInvalid(err) {
			t.Errorf("%+v: %v", wrong.Spec, err)
		}
	}
	if err := direct.Create(ctx, newGreeting("no-such-namespace", "one", "ann")); !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}

func TestWebhooksDefaultAndRefuse(t *testing.T) {
	ctx, ns := t.Context(), namespace(t)
	one := newGreeting(ns, "one", "cat")
	one.Annotations = map[string]string{"demo.athanor.dev/keep": "true"}
	if err := direct.Create(ctx, one); err != nil {
		t.Fatal(err)
	}
	if one.Spec.Count != 1 {
		t.Errorf("the count was not set: %d", one.Spec.Count)
	}
	err := direct.Create(ctx, newGreeting(ns, "two", "nobody"))
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "nobody is not greeted") {
		t.Errorf("creating: %v", err)
	}
	err = direct.Patch(ctx, one, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"name":"nobody"}}`)))
	if !apierrors.IsForbidden(err) {
		t.Errorf("patching: %v", err)
	}
	if err = direct.Delete(ctx, newGreeting(ns, "one", "")); !apierrors.IsForbidden(err) {
		t.Errorf("deleting: %v", err)
	}
	warned := &warnings{}
	warnedConfig := rest.CopyConfig(config)
	warnedConfig.WarningHandler = warned
	warnedClient, err := client.New(warnedConfig, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := warnedClient.Create(ctx, newGreeting(ns, "all", "everybody")); err != nil {
		t.Fatal(err)
	}
	if len(*warned) != 1 || (*warned)[0] != "that is a lot of people" {
		t.Errorf("warnings: %v", *warned)
	}
}

type warnings []string

func (w *warnings) HandleWarningHeader(_ int, _, text string) { *w = append(*w, text) }

func TestOneLeaderAtATime(t *testing.T) {
	ctx := t.Context()
	within(t, "the suite's manager leads", func() (bool, error) {
		var held coordinationv1.Lease
		err := direct.Get(ctx, client.ObjectKey{Namespace: "default", Name: lease}, &held)
		return err == nil && held.Spec.HolderIdentity != nil && *held.Spec.HolderIdentity != "", client.IgnoreNotFound(err)
	})
	first, err := newManager("contest")
	if err != nil {
		t.Fatal(err)
	}
	second, err := newManager("contest")
	if err != nil {
		t.Fatal(err)
	}
	firstCtx, stopFirst := context.WithCancel(ctx)
	secondCtx, stopSecond := context.WithCancel(ctx)
	defer stopSecond()
	firstEnded, secondEnded := make(chan error, 1), make(chan error, 1)
	go func() { firstEnded <- first.Start(firstCtx) }()
	select {
	case <-first.Elected():
	case <-time.After(20 * time.Second):
		t.Fatal("nobody was elected")
	}
	go func() { secondEnded <- second.Start(secondCtx) }()
	select {
	case <-second.Elected():
		t.Fatal("two leaders")
	case <-time.After(time.Second):
	}
	stopFirst()
	if err := <-firstEnded; err != nil {
		t.Fatal(err)
	}
	select {
	case <-second.Elected():
	case <-time.After(20 * time.Second):
		t.Fatal("the released lease was not taken over")
	}
	stopSecond()
	if err := <-secondEnded; err != nil {
		t.Fatal(err)
	}
}

func TestUsersHaveTheRightsTheyAreGiven(t *testing.T) {
	ctx, ns := t.Context(), namespace(t)
	user, err := environment.AddUser(envtest.User{Name: "dora", Groups: []string{"readers"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dora, err := client.New(user.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	var texts corev1.ConfigMapList
	if err := dora.List(ctx, &texts, client.InNamespace(ns)); !apierrors.IsForbidden(err) {
		t.Fatalf("without rights: %v", err)
	}
	grant(t, ns, rbacv1.Subject{Kind: "Group", APIGroup: rbacv1.GroupName, Name: "readers"})
	if err := dora.List(ctx, &texts, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(os.Getenv("KUBEBUILDER_ASSETS"), "kubectl")); err == nil {
		kubectl, err := user.Kubectl()
		if err != nil {
			t.Fatal(err)
		}
		if out, _, err := kubectl.Run("auth", "whoami"); err != nil {
			t.Error(err)
		} else if text := new(strings.Builder); out != nil {
			buffer := make([]byte, 4096)
			n, _ := out.Read(buffer)
			text.Write(buffer[:n])
			if !strings.Contains(text.String(), "dora") {
				t.Errorf("kubectl auth whoami: %s", text)
			}
		}
	}
}

func grant(t *testing.T, ns string, subject rbacv1.Subject) {
	t.Helper()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "reader"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list"}}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		Subjects:   []rbacv1.Subject{subject}}
	for _, object := range []client.Object{role, binding} {
		if err := direct.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

func TestServiceAccountTokensAreTaken(t *testing.T) {
	ctx, ns := t.Context(), namespace(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "robot"}}
	if err := direct.Create(ctx, account); err != nil {
		t.Fatal(err)
	}
	grant(t, ns, rbacv1.Subject{Kind: "ServiceAccount", Namespace: ns, Name: "robot"})
	request := &authenticationv1.TokenRequest{}
	if err := direct.SubResource("token").Create(ctx, account, request); err != nil {
		t.Fatal(err)
	}
	bearer := rest.AnonymousClientConfig(config)
	bearer.BearerToken = request.Status.Token
	robot, err := client.New(bearer, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	var texts corev1.ConfigMapList
	if err := robot.List(ctx, &texts, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: request.Status.Token}}
	if err := direct.Create(ctx, review); err != nil {
		t.Fatal(err)
	}
	if wanted := "system:serviceaccount:" + ns + ":robot"; review.Status.User.Username != wanted {
		t.Errorf("reviewed as %q (%s)", review.Status.User.Username, review.Status.Error)
	}
}

func TestPodsNeedNoServiceAccount(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace(t), Name: "one"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "image"}}}}
	if err := direct.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if pod.Status.Phase != corev1.PodPending || len(pod.Spec.Volumes) != 0 {
		t.Errorf("%+v", pod)
	}
}

func TestApplyAndMetadataClients(t *testing.T) {
	ctx, ns := t.Context(), namespace(t)
	apply := func(owner, value string, options ...client.PatchOption) error {
		text := &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "shared"},
			Data:       map[string]string{"key": value}}
		return direct.Patch(ctx, text, client.Apply, append(options, client.FieldOwner(owner))...) //nolint:staticcheck
	}
	if err := apply("one", "a"); err != nil {
		t.Fatal(err)
	}
	if err := apply("two", "b"); !apierrors.IsConflict(err) {
		t.Fatalf("two owners of a field: %v", err)
	}
	if err := apply("two", "b", client.ForceOwnership); err != nil {
		t.Fatal(err)
	}
	gvk, err := apiutil.GVKForObject(&corev1.ConfigMap{}, scheme)
	if err != nil {
		t.Fatal(err)
	}
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(gvk)
	if err := direct.Get(ctx, client.ObjectKey{Namespace: ns, Name: "shared"}, partial); err != nil {
		t.Fatal(err)
	}
	if len(partial.ManagedFields) == 0 || partial.ManagedFields[0].Manager != "two" {
		t.Errorf("%+v", partial.ManagedFields)
	}
}
