// SPDX-License-Identifier: Apache-2.0

// Package alerts evaluates the alerts and the dashboard of deploy/ with Prometheus' own engine.
package alerts

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"sigs.k8s.io/yaml"
)

const (
	monitoring   = "../../../deploy/kustomize/components/monitoring"
	accelerators = "../../../deploy/kustomize/components/accelerators"
	queues       = "../../../deploy/kustomize/components/queues"
	console      = "../../../deploy/kustomize/components/console-monitoring"
	appwrapper   = "../../../deploy/appwrapper/monitoring"
)

type rule struct {
	Alert       string            `json:"alert,omitempty"`
	Record      string            `json:"record,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type group struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

func groups(t *testing.T, folder string) []group {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "prometheusrule.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var object struct {
		Spec struct {
			Groups []group `json:"groups"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	return object.Spec.Groups
}

func TestTheRulesArePrometheusRules(t *testing.T) {
	for _, folder := range []string{monitoring, accelerators, queues, console, appwrapper} {
		if len(groups(t, folder)) == 0 {
			t.Error(folder, "has no rules")
		}
		text, err := yaml.Marshal(map[string]any{"groups": groups(t, folder)})
		if err != nil {
			t.Fatal(err)
		}
		if _, errs := rulefmt.Parse(text, false); len(errs) > 0 {
			t.Fatal(folder, errs)
		}
	}
}

func TestThePanelsAskWhatPrometheusUnderstands(t *testing.T) {
	for _, folder := range []string{monitoring, accelerators, queues, appwrapper} {
		panelsParse(t, folder)
	}
}

func panelsParse(t *testing.T, folder string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			asked++
			if _, err := parser.ParseExpr(strings.ReplaceAll(target.Expr, "$__rate_interval", "5m")); err != nil {
				t.Errorf("%s: %v", panel.Title, err)
			}
		}
	}
	if asked < 5 {
		t.Errorf("%s: %d queries found", folder, asked)
	}
}

// What the series of an hour, a sample a minute, make of an alert at its end.
var cases = []struct {
	alert, name, series string
	fires               int
}{
	{"AthanorDown", "nothing is known", "", 1},
	{"AthanorDown", "no replica answers", `up{job="athanor",pod="a"} 0x60`, 1},
	{"AthanorDown", "one of two answers", "up{job=\"athanor\",pod=\"a\"} 0x60\nup{job=\"athanor\",pod=\"b\"} 1x60", 0},
	{"AthanorDown", "another job answers", `up{job="other",pod="a"} 1x60`, 1},
	{"AthanorReplicaDown", "one of two answers", "up{job=\"athanor\",pod=\"a\"} 0x60\nup{job=\"athanor\",pod=\"b\"} 1x60", 1},
	{"AthanorReplicaDown", "both answer", "up{job=\"athanor\",pod=\"a\"} 1x60\nup{job=\"athanor\",pod=\"b\"} 1x60", 0},
	{"AthanorNoLeader", "nobody leads", leaders("0x60", "0x60"), 1},
	{"AthanorNoLeader", "one leads", leaders("0x60", "1x60"), 0},
	{"AthanorSeveralLeaders", "both lead", leaders("1x60", "1x60"), 1},
	{"AthanorSeveralLeaders", "one leads", leaders("0x60", "1x60"), 0},
	{"AthanorRestarting", "every ten minutes", `process_start_time_seconds{job="athanor",pod="a"} 0x9 1x9 2x9 3x9 4x9 5x9`, 1},
	{"AthanorRestarting", "once", `process_start_time_seconds{job="athanor",pod="a"} 0x30 1x30`, 0},
	{"AthanorKindMissing", "both replicas miss one kind of two", kinds("1x60", "0x60"), 1},
	{"AthanorKindMissing", "it was installed", kinds("1x30 0x30", "0x60"), 0},
	{"AthanorReconcileErrors", "a half fails", reconciles("0+60x60", "0+60x60"), 1},
	{"AthanorReconcileErrors", "one in a hundred fails", reconciles("0+99x60", "0+1x60"), 0},
	{"AthanorReconcileErrors", "nothing is done", reconciles("0x60", "0x60"), 0},
	{"AthanorReconcilesSlow", "a tenth takes 2 to 5 s", histogram("athanor_plan_seconds", "controller", "0+90x60"), 1},
	{"AthanorReconcilesSlow", "all take less than 1 s", histogram("athanor_plan_seconds", "controller", "0+100x60"), 0},
	{"AthanorQueueSlow", "a tenth waits for more than 5 s", slowQueue("0+90x60"), 1},
	{"AthanorQueueSlow", "nothing waits", slowQueue("0+100x60"), 0},
	{"AthanorQueueLong", "many keys", `workqueue_depth{job="athanor",name="c",pod="a"} 5000x60`, 1},
	{"AthanorQueueLong", "few keys", `workqueue_depth{job="athanor",name="c",pod="a"} 900x60`, 0},
	{"AthanorForbidden", "denied again and again", `rest_client_requests_total{job="athanor",method="GET",code="403"} 0+1x60`, 1},
	{"AthanorForbidden", "denied long ago", `rest_client_requests_total{job="athanor",method="GET",code="403"} 0 5x59`, 0},
	{"AthanorForbidden", "conflicts", `rest_client_requests_total{job="athanor",method="GET",code="409"} 0+9x60`, 0},
	{"AthanorWritesFailing", "overload", `athanor_failed_writes_total{job="athanor",controller="c",code="429"} 0+60x60`, 1},
	{"AthanorWritesFailing", "one in an hour", `athanor_failed_writes_total{job="athanor",controller="c",code="503"} 0x30 1x30`, 0},
	{"AthanorWritesFailing", "conflicts", `athanor_failed_writes_total{job="athanor",controller="c",code="409"} 0+60x60`, 0},
	{"AthanorApiErrors", "a half without an answer", requests("0+60x60", "<error>", "0+60x60"), 1},
	{"AthanorApiErrors", "a half with 500", requests("0+60x60", "500", "0+60x60"), 1},
	{"AthanorApiErrors", "a half with 409", requests("0+60x60", "409", "0+60x60"), 0},
	{"JobsWaitLong", "since 5 h", `fournos_jobs_waiting_since_timestamp_seconds{job="athanor",cluster="c",pod="a"} -14400x60`, 1},
	{"JobsWaitLong", "since 10 min", `fournos_jobs_waiting_since_timestamp_seconds{job="athanor",cluster="c",pod="a"} 3000x60`, 0},
	{"JobsFailInARow", "three, seen by two replicas", twice("fournos_failures_in_a_row", `cluster="c"`, "3x60"), 1},
	{"JobsFailInARow", "two", twice("fournos_failures_in_a_row", `cluster="c"`, "2x60"), 0},
	{"JobsEvicted", "twenty in an hour", twice("fournos_evictions_total", `reason="Preempted"`, "0x30 20x30"), 1},
	{"JobsEvicted", "three, counted by two replicas", twice("fournos_evictions_total", `reason="Preempted"`, "0x30 3x30"), 0},
	{"ClusterUnreachable", "unreachable", twice("hearth_cluster_state", `cluster="c",state="Unreachable"`, "1x60"), 1},
	{"ClusterUnreachable", "valid", twice("hearth_cluster_state", `cluster="c",state="Valid"`, "1x60"), 0},
	{"ClusterKubeconfigUnusable", "invalid", twice("hearth_cluster_state", `cluster="c",state="Invalid"`, "1x60"), 1},
	{"ClusterKubeconfigUnusable", "unreachable", twice("hearth_cluster_state", `cluster="c",state="Unreachable"`, "1x60"), 0},
	{"ClusterProbesFail", "two in a row", twice("hearth_probe_failures_in_a_row", `cluster="c"`, "2x60"), 1},
	{"ClusterProbesFail", "every second one", probes("0+1x60", "0+2x60"), 1},
	{"ClusterProbesFail", "one of twenty", probes("0x30 1x30", "0+2x60"), 0},
	{"LockExpiresSoon", "in 5 min", twice("hearth_lock_expires_timestamp_seconds", `cluster="c"`, "3900x60"), 1},
	{"LockExpiresSoon", "in an hour", twice("hearth_lock_expires_timestamp_seconds", `cluster="c"`, "7200x60"), 0},
	{"LockExpiresSoon", "it ended", twice("hearth_lock_expires_timestamp_seconds", `cluster="c"`, "3000x60"), 0},
	{"LockLost", "lost", twice("hearth_lock_state", `cluster="c",state="Lost"`, "1x60"), 1},
	{"LockLost", "held", twice("hearth_lock_state", `cluster="c",state="Held"`, "1x60"), 0},
	{"LockWaitsLong", "acquiring", twice("hearth_lock_state", `cluster="c",state="Acquiring"`, "1x60"), 1},
	{"LockWaitsLong", "unlocked", twice("hearth_lock_state", `cluster="c",state="Unlocked"`, "1x60"), 0},
	{"QuotaWritesRefused", "the first write", twice("hearth_clusterqueue_writes_total", `result="refused"`, "_x55 1x5"), 1},
	{"QuotaWritesRefused", "a later one", twice("hearth_clusterqueue_writes_total", `result="error"`, "0x55 1x5"), 1},
	{"QuotaWritesRefused", "long ago", twice("hearth_clusterqueue_writes_total", `result="refused"`, "0x5 1x55"), 0},
	{"QuotaWritesRefused", "conflicts", twice("hearth_clusterqueue_writes_total", `result="conflict"`, "0+1x60"), 0},
	{"SlicesExhausted", "no slot of two GPUs", twice("das_slots_free", `node="n",gpu="g"`, "0x60") + "\n" + twice("das_slots_free", `node="n",gpu="h"`, "0x60"), 1},
	{"SlicesExhausted", "no slot of the sliced GPU, the other is shared", twice("das_slots_free", `node="n",gpu="g"`, "0x60") + "\n" + shared("h"), 1},
	{"SlicesExhausted", "one GPU has slots", twice("das_slots_free", `node="n",gpu="g"`, "0x60") + "\n" + twice("das_slots_free", `node="n",gpu="h"`, "3x60"), 0},
	{"SlicesExhausted", "every GPU is shared", shared("g") + "\n" + shared("h"), 0},
	{"AcceleratorsKindMissing", "a kind of the operator of DAS", of("athanor-das-operator", kinds("1x60", "0x60")), 1},
	{"AcceleratorsKindMissing", "it was installed", of("athanor-das-operator", kinds("1x30 0x30", "0x60")), 0},
	{"AcceleratorsKindMissing", "a kind of the controllers", kinds("1x60", "0x60"), 0},
	{"AcceleratorsForbidden", "denied again and again", denied("athanor-extender", "403"), 1},
	{"AcceleratorsForbidden", "conflicts", denied("athanor-extender", "409"), 0},
	{"AcceleratorsOperatorDown", "no replica answers", `up{job="athanor-das-operator",pod="a"} 0x60`, 1},
	{"AcceleratorsOperatorDown", "one of two answers", "up{job=\"athanor-numa\",pod=\"a\"} 0x60\nup{job=\"athanor-numa\",pod=\"b\"} 1x60", 0},
	{"AcceleratorsOperatorDown", "none is found any more", `up{job="athanor-numa",pod="a"} 1x50`, 1},
	{"AcceleratorsOperatorDown", "none was ever installed", "", 0},
	{"AcceleratorsNoLeader", "nobody leads", of("athanor-numa", leaders("0x60", "0x60")), 1},
	{"AcceleratorsNoLeader", "one leads", of("athanor-numa", leaders("0x60", "1x60")), 0},
	{"AcceleratorsWritesFailing", "overload", failedWrites("athanor-das-operator", "429"), 1},
	{"AcceleratorsWritesFailing", "conflicts", failedWrites("athanor-das-operator", "409"), 0},
	{"AcceleratorsApiErrors", "a half without an answer", of("athanor-numa", requests("0+60x60", "<error>", "0+60x60")), 1},
	{"AcceleratorsApiErrors", "a half with 409", of("athanor-numa", requests("0+60x60", "409", "0+60x60")), 0},
	{"AppWrapperOperatorDown", "nobody leads", appwrapperLeader("0x60"), 1},
	{"AppWrapperOperatorDown", "another operator leads", leaders("0x60", "1x60"), 1},
	{"AppWrapperOperatorDown", "one leads", appwrapperLeader("1x60"), 0},
	{"AppWrapperResets", "one a minute", appwrappers("appwrapper_resets_total", `reason="FailedPods"`, "0+1x60"), 1},
	{"AppWrapperResets", "one", appwrappers("appwrapper_resets_total", `reason="FailedPods"`, "0x40 1x20"), 0},
	{"AppWrapperFailures", "one a minute", appwrappers("appwrapper_failures_total", `reason="FailedPods"`, "0+1x60"), 1},
	{"AppWrapperFailures", "one", appwrappers("appwrapper_failures_total", `reason="FailedPods"`, "0x40 1x20"), 0},
	{"AppWrapperRemovalStuck", "terminating", appwrappers("appwrapper_active", `phase="Terminating"`, "1x60"), 1},
	{"AppWrapperRemovalStuck", "running", appwrappers("appwrapper_active", `phase="Running"`, "1x60"), 0},
	{"AppWrapperKindMissing", "both replicas miss one kind of two", of("athanor-appwrapper", kinds("1x60", "0x60")), 1},
	{"AppWrapperKindMissing", "it was installed", of("athanor-appwrapper", kinds("1x30 0x30", "0x60")), 0},
	{"AppWrapperForbidden", "denied again and again", denied("athanor-appwrapper", "401"), 1},
	{"AppWrapperForbidden", "conflicts", denied("athanor-appwrapper", "409"), 0},
	{"AppWrapperWritesFailing", "overload", failedWrites("athanor-appwrapper", "503"), 1},
	{"AppWrapperWritesFailing", "conflicts", failedWrites("athanor-appwrapper", "409"), 0},
	{"AppWrapperApiErrors", "a half with 500", of("athanor-appwrapper", requests("0+60x60", "500", "0+60x60")), 1},
	{"AppWrapperApiErrors", "a half with 409", of("athanor-appwrapper", requests("0+60x60", "409", "0+60x60")), 0},
}

// The series of the controllers as those of another job.
func of(job, series string) string {
	return strings.ReplaceAll(series, `job="athanor"`, `job="`+job+`"`)
}

func denied(job, code string) string {
	return `rest_client_requests_total{job="` + job + `",method="GET",code="` + code + `"} 0+1x60`
}

func failedWrites(job, code string) string {
	return `athanor_failed_writes_total{job="` + job + `",controller="c",code="` + code + `"} 0+60x60`
}

func appwrapperLeader(values string) string {
	return `leader_election_master_status{job="athanor-appwrapper",name="f134c674.codeflare.dev",pod="a"} ` + values
}

func appwrappers(name, label, values string) string {
	return name + `{job="athanor-appwrapper",namespace="n",` + label + `} ` + values
}

func leaders(a, b string) string {
	return `leader_election_master_status{job="athanor",name="athanor",pod="a"} ` + a +
		"\n" + `leader_election_master_status{job="athanor",name="athanor",pod="b"} ` + b
}

// One series, as each of two replicas reports it.
func twice(name, labels, values string) string {
	return name + `{job="athanor",pod="a",` + labels + `} ` + values + "\n" + name + `{job="athanor",pod="b",` + labels + `} ` + values
}

// A GPU without slices: no slot of it is free, and it has shares.
func shared(gpu string) string {
	return twice("das_slots_free", `node="n",gpu="`+gpu+`"`, "0x60") + "\n" +
		twice("das_shares_total", `node="n",gpu="`+gpu+`",resource="nvidia.com/gpu.shared"`, "4x60")
}

func probes(failures, all string) string {
	labels := `{job="athanor",pod="a",cluster="c"} `
	return "hearth_probe_failures_total" + labels + failures + "\nhearth_probe_duration_seconds_count" + labels + all
}

// Two kinds, as each of two replicas sees them.
func kinds(a, b string) string {
	series := []string{}
	for _, pod := range []string{"a", "b"} {
		series = append(series,
			`athanor_kind_missing{job="athanor",kind="workloads.kueue.x-k8s.io",pod="`+pod+`"} `+a,
			`athanor_kind_missing{job="athanor",kind="pipelines.tekton.dev",pod="`+pod+`"} `+b)
	}
	return strings.Join(series, "\n")
}

func reconciles(good, bad string) string {
	return `controller_runtime_reconcile_total{job="athanor",controller="c",result="success"} ` + good +
		"\n" + `controller_runtime_reconcile_total{job="athanor",controller="c",result="error"} ` + bad
}

func requests(good, code, bad string) string {
	return `rest_client_requests_total{job="athanor",method="GET",code="200"} ` + good +
		"\n" + `rest_client_requests_total{job="athanor",method="GET",code="` + code + `"} ` + bad
}

// A hundred a minute, all below 5 s, `quick` of them below 1 s.
func histogram(name, label, quick string) string {
	labels := `_bucket{job="athanor",` + label + `="c",le="`
	return name + labels + `1"} ` + quick + "\n" + name + labels + `5"} 0+100x60` + "\n" + name + labels + `+Inf"} 0+100x60`
}

// A hundred a minute, `quick` of them below 5 s.
func slowQueue(quick string) string {
	name := `workqueue_queue_duration_seconds_bucket{job="athanor",name="c",le="`
	return name + `5"} ` + quick + "\n" + name + `10"} 0+100x60` + "\n" + name + `+Inf"} 0+100x60`
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	exprs := map[string]string{}
	required := []string{"SlicesExhausted"}
	for _, folder := range []string{monitoring, accelerators, appwrapper} {
		for _, group := range groups(t, folder) {
			for _, rule := range group.Rules {
				if rule.Alert == "" {
					continue
				}
				exprs[rule.Alert] = rule.Expr
				if folder != accelerators || group.Name == "athanor.accelerators" {
					required = append(required, rule.Alert)
				}
			}
		}
	}
	fired, held := map[string]bool{}, map[string]bool{}
	for _, one := range cases {
		t.Run(one.alert+": "+one.name, func(t *testing.T) {
			storage := promqltest.LoadedStorage(t, "load 1m\n  "+strings.ReplaceAll(one.series, "\n", "\n  ")+"\n")
			defer storage.Close()
			engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 100000, Timeout: time.Minute})
			query, err := engine.NewInstantQuery(context.Background(), storage, nil, exprs[one.alert], time.Unix(3600, 0))
			if err != nil {
				t.Fatal(err)
			}
			result := query.Exec(context.Background())
			if result.Err != nil {
				t.Fatal(result.Err)
			}
			if vector, err := result.Vector(); err != nil || len(vector) != one.fires {
				t.Errorf("%d alerts (%v), %d expected: %v", len(vector), err, one.fires, vector)
			}
		})
		if one.fires > 0 {
			fired[one.alert] = true
		} else {
			held[one.alert] = true
		}
	}
	for _, name := range required {
		if !fired[name] || !held[name] {
			t.Errorf("%s is not shown to fire and to be silent", name)
		}
	}
}
