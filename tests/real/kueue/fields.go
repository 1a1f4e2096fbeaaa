// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	"sigs.k8s.io/kueue/pkg/metrics"
)

// printFields prints each field of Kueue's configuration and each of its feature gates as a document
// of YAML with a plain value, for the test Configuration.KnowsEveryFieldAndGateOfKueue.
func printFields() {
	walk(reflect.TypeFor[config.Configuration](), nil)
	gates := utilfeature.DefaultMutableFeatureGate.GetAll()
	for _, name := range slices.Sorted(maps.Keys(gates)) {
		if !strings.HasPrefix(string(name), "All") {
			fmt.Printf("---\nfeatureGates: {%s: %t}\n", name, gates[name].Default)
		}
	}
}

// walk prints the leaves of a type: `path` has what is around them, "[" for a list.
func walk(kind reflect.Type, path []string) {
	for kind.Kind() == reflect.Pointer {
		kind = kind.Elem()
	}
	switch {
	case kind == reflect.TypeFor[metav1.Duration]():
		printLeaf(path, "5m")
	case kind == reflect.TypeFor[metav1.LabelSelector]():
		printLeaf(path, "{matchLabels: {a: b}}")
	case kind.Kind() == reflect.Struct && kind.NumField() > 0:
		for i := range kind.NumField() {
			field := kind.Field(i)
			name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case strings.Contains(options, "inline"):
				if field.Type != reflect.TypeFor[metav1.TypeMeta]() {
					walk(field.Type, path)
				}
			case name != "" && name != "-" && len(path) < 8:
				walk(field.Type, append(slices.Clone(path), name))
			}
		}
	case kind.Kind() == reflect.Slice:
		walk(kind.Elem(), append(slices.Clone(path), "["))
	case kind.Kind() == reflect.Map:
		printLeaf(path, "{}")
	case kind.Kind() == reflect.Bool:
		printLeaf(path, "true")
	case kind.Kind() == reflect.String:
		printLeaf(path, "x")
	default:
		printLeaf(path, "1")
	}
}

func printLeaf(path []string, value string) {
	for _, name := range slices.Backward(path) {
		if name == "[" {
			value = "[" + value + "]"
		} else {
			value = "{" + name + ": " + value + "}"
		}
	}
	fmt.Println("---\n" + value)
}

// printMetrics prints the names of all metrics that Kueue registers.
func printMetrics() {
	metrics.Register()
	descriptions := make(chan *prometheus.Desc)
	go func() {
		ctrlmetrics.Registry.(prometheus.Collector).Describe(descriptions)
		close(descriptions)
	}()
	for one := range descriptions {
		_, rest, _ := strings.Cut(one.String(), `fqName: "`)
		if name, _, _ := strings.Cut(rest, `"`); strings.HasPrefix(name, "kueue_") {
			fmt.Println(name)
		}
	}
}
