// SPDX-License-Identifier: Apache-2.0

package greeting

import (
	"context"
	"errors"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// Webhook gives Greetings a count, and refuses to greet nobody.
type Webhook struct{}

// Default sets the count.
func (Webhook) Default(_ context.Context, greeting *Greeting) error {
	if greeting.Spec.Count == 0 {
		greeting.Spec.Count = 1
	}
	return nil
}

// ValidateCreate refuses to greet nobody, and warns of everybody.
func (Webhook) ValidateCreate(_ context.Context, greeting *Greeting) (admission.Warnings, error) {
	if greeting.Spec.Name == "nobody" {
		return nil, errors.New("nobody is not greeted")
	}
	if greeting.Spec.Name == "everybody" {
		return admission.Warnings{"that is a lot of people"}, nil
	}
	return nil, nil
}

// ValidateUpdate judges as ValidateCreate does.
func (w Webhook) ValidateUpdate(ctx context.Context, _, greeting *Greeting) (admission.Warnings, error) {
	return w.ValidateCreate(ctx, greeting)
}

// ValidateDelete keeps Greetings that ask for it.
func (Webhook) ValidateDelete(_ context.Context, greeting *Greeting) (admission.Warnings, error) {
	if greeting.Annotations["demo.athanor.dev/keep"] == "true" {
		return nil, errors.New("this greeting is to be kept")
	}
	return nil, nil
}

func setUpWebhooks(manager ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(manager, &Greeting{}).WithDefaulter(Webhook{}).WithValidator(Webhook{}).Complete()
}
