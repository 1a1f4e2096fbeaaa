// SPDX-License-Identifier: Apache-2.0

// Program queueworlds plays worlds of queues on Kueue's real queue manager, cache, scheduler and
// event handlers, over a client in memory: one world per line on standard input, the decisions of
// each as a line on standard output (tests/real/queue_worlds.py). --fields prints the fields and
// feature gates of Kueue's configuration, --metrics the names of its metrics.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	_ "unsafe" // for the names of functions that Kueue does not export

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/controller/core/indexer"
	_ "sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/pkg/scheduler"
	"sigs.k8s.io/kueue/pkg/util/expectations"
	"sigs.k8s.io/kueue/pkg/util/routine"
	"sigs.k8s.io/kueue/pkg/util/wait"
	"sigs.k8s.io/kueue/pkg/workload"
)

// One cycle, which Kueue only runs in a loop.
//
//go:linkname cycle sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).schedule
func cycle(*scheduler.Scheduler, context.Context) wait.SpeedSignal

//go:linkname admitWith sigs.k8s.io/kueue/pkg/scheduler.(*Scheduler).setAdmissionRoutineWrapper
func admitWith(*scheduler.Scheduler, routine.Wrapper)

// atOnce writes admissions within the cycle.
type atOnce struct{}

func (atOnce) Run(f func()) { f() }

const mostRounds = 60

type world struct {
	Seed    int               `json:"seed"`
	Fair    bool              `json:"fair"`
	Objects []json.RawMessage `json:"objects"`
	Steps   []step            `json:"steps"`
}

type step struct {
	Submit []json.RawMessage `json:"submit"`
	End    []string          `json:"end"`
}

type answer struct {
	Seed    int        `json:"seed"`
	Steps   [][]string `json:"steps"` // of each step its states of rest, each until the next release
	Circle  bool       `json:"circle,omitempty"`
	Endless bool       `json:"endless,omitempty"` // it ends before a rest that it never came to
	Why     [][]string `json:"why,omitempty"`
}

type player struct {
	ctx       context.Context
	client    client.Client
	clock     *testingclock.FakeClock
	queues    *qcache.Manager
	cache     *schdcache.Cache
	requeue   func() int
	scheduler *scheduler.Scheduler
	events    *core.WorkloadReconciler
	seen      map[string]*kueue.Workload
	names     sets.Set[kueue.ClusterQueueReference]
	strict    sets.Set[kueue.ClusterQueueReference]
	endless   bool
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func newPlayer(w world) *player {
	scheme := runtime.NewScheme()
	must(clientgoscheme.AddToScheme(scheme))
	must(kueue.AddToScheme(scheme))
	builder := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&kueue.Workload{}).
		WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "bench"}}).
		WithIndex(&kueue.LocalQueue{}, indexer.QueueClusterQueueKey, indexer.IndexQueueClusterQueue).
		WithIndex(&kueue.Workload{}, indexer.WorkloadQueueKey, indexer.IndexWorkloadQueue).
		WithIndex(&kueue.Workload{}, indexer.WorkloadClusterQueueKey, indexer.IndexWorkloadClusterQueue).
		WithIndex(&kueue.Workload{}, indexer.OwnerReferenceUID, indexer.IndexOwnerUID).
		WithIndex(&corev1.LimitRange{}, indexer.LimitRangeHasContainerOrPodType, indexer.IndexLimitRangeHasContainerOrPodType)
	p := &player{
		ctx:    ctrl.LoggerInto(context.Background(), logr.Discard()),
		client: builder.Build(),
		clock:  testingclock.NewFakeClock(time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)),
		seen:   map[string]*kueue.Workload{},
		names:  sets.New[kueue.ClusterQueueReference](),
		strict: sets.New[kueue.ClusterQueueReference](),
	}
	preempted := expectations.NewStore("preemption")
	p.cache = schdcache.New(p.client, schdcache.WithFairSharing(w.Fair))
	queues, requeuer := qcache.NewManagerForUnitTestsWithRequeuer(p.client, p.cache, qcache.WithClock(p.clock), qcache.WithPreemptionExpectations(preempted))
	p.queues = queues
	p.requeue = func() int { return requeuer.ProcessRequeues(p.ctx) }
	recorder := &events.FakeRecorder{}
	options := []scheduler.Option{scheduler.WithClock(nil, p.clock), scheduler.WithPreemptionExpectations(preempted)}
	if w.Fair {
		options = append(options, scheduler.WithFairSharing(&config.FairSharing{
			PreemptionStrategies: []config.PreemptionStrategy{config.LessThanOrEqualToFinalShare, config.LessThanInitialShare}}))
	}
	p.scheduler = scheduler.New(p.queues, p.cache, p.client, recorder, options...)
	admitWith(p.scheduler, atOnce{})
	p.events = core.NewWorkloadReconciler(p.client, p.queues, p.cache, recorder, core.WithPreemptionExpectations(preempted))
	for _, raw := range w.Objects {
		p.make(raw)
	}
	return p
}

func read[T any](raw []byte) *T {
	one := new(T)
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	must(decoder.Decode(one))
	return one
}

func (p *player) make(raw []byte) {
	var kind metav1.TypeMeta
	must(json.Unmarshal(raw, &kind))
	switch kind.Kind {
	case "ResourceFlavor":
		one := read[kueue.ResourceFlavor](raw)
		must(p.client.Create(p.ctx, one))
		p.cache.AddOrUpdateResourceFlavor(logr.Discard(), one)
	case "Cohort":
		one := read[kueue.Cohort](raw)
		must(p.client.Create(p.ctx, one))
		must(p.cache.AddOrUpdateCohort(one))
		p.queues.AddOrUpdateCohort(p.ctx, one)
	case "ClusterQueue":
		one := read[kueue.ClusterQueue](raw)
		must(p.client.Create(p.ctx, one))
		must(p.cache.AddClusterQueue(p.ctx, one))
		must(p.queues.AddClusterQueue(p.ctx, one))
		p.names.Insert(kueue.ClusterQueueReference(one.Name))
		if one.Spec.QueueingStrategy == kueue.StrictFIFO {
			p.strict.Insert(kueue.ClusterQueueReference(one.Name))
		}
	case "LocalQueue":
		one := read[kueue.LocalQueue](raw)
		must(p.client.Create(p.ctx, one))
		must(p.cache.AddLocalQueue(one))
		must(p.queues.AddLocalQueue(p.ctx, one))
	default:
		panic("kind " + kind.Kind)
	}
}

func (p *player) submit(raw []byte) {
	p.clock.Step(time.Second)
	one := read[kueue.Workload](raw)
	one.CreationTimestamp = metav1.NewTime(p.clock.Now())
	must(p.client.Create(p.ctx, one))
	p.seen[one.Name] = one.DeepCopy()
	p.events.Create(event.TypedCreateEvent[*kueue.Workload]{Object: one})
}

func (p *player) end(name string) {
	one, ok := p.seen[name]
	if !ok {
		return
	}
	must(p.client.Delete(p.ctx, one.DeepCopy()))
	delete(p.seen, name)
	p.events.Delete(event.TypedDeleteEvent[*kueue.Workload]{Object: one})
}

// observe hands the changes of workloads to Kueue's handlers, as its watch would; true if any was a decision.
func (p *player) observe() bool {
	var list kueue.WorkloadList
	must(p.client.List(p.ctx, &list))
	changed := false
	for i := range list.Items {
		now := &list.Items[i]
		old := p.seen[now.Name]
		if old.ResourceVersion == now.ResourceVersion {
			continue
		}
		changed = changed || told(old) != told(now)
		p.seen[now.Name] = now.DeepCopy()
		p.events.Update(event.TypedUpdateEvent[*kueue.Workload]{ObjectOld: old, ObjectNew: now})
	}
	return changed
}

func isTrue(one *kueue.Workload, condition string) bool {
	return meta.IsStatusConditionTrue(one.Status.Conditions, condition)
}

// told is what was decided about a workload: nothing, its flavors, whether and why it has to leave.
func told(one *kueue.Workload) string {
	if !isTrue(one, kueue.WorkloadQuotaReserved) || one.Status.Admission == nil {
		return ""
	}
	text := one.Name + "="
	for i, set := range one.Status.Admission.PodSetAssignments {
		if i > 0 {
			text += ";"
		}
		var flavors []string
		for resource, flavor := range set.Flavors {
			flavors = append(flavors, fmt.Sprintf("%s:%s", resource, flavor))
		}
		slices.Sort(flavors)
		text += strings.Join(flavors, ",")
		if set.Count != nil {
			text += fmt.Sprintf("*%d", *set.Count)
		}
	}
	if isTrue(one, kueue.WorkloadEvicted) {
		text += "!" + meta.FindStatusCondition(one.Status.Conditions, kueue.WorkloadPreempted).Reason
	}
	return text
}

// settle runs cycles until nothing is decided any more. A head that never fits stays in its queue
// (StrictFIFO), and one that has flavors left comes back for each: so many cycles may pass in vain.
func (p *player) settle() {
	retried := false
	// Athanor considers all again in each run, Kueue what a change may have made room for (docs/kueue.md, differences).
	qcache.NotifyRetryInadmissible(p.queues, p.names)
	for quiet := 0; ; {
		p.requeue()
		inVain := quiet > 8*(len(p.seen)+1)
		if inVain || len(p.queues.Dump()) == 0 {
			if retried {
				p.endless = p.endless || inVain && p.circles()
				return
			}
			retried, quiet = true, 0
			qcache.NotifyRetryInadmissible(p.queues, p.names)
			continue
		}
		cycle(p.scheduler, p.ctx)
		quiet++
		if p.observe() {
			quiet, retried = 0, false
		}
	}
}

// circles tells whether a queue that lets others overtake still has several workloads to try: one of them comes back again and
// again, with other flavors for its pod sets each time, and the others never have their turn.
func (p *player) circles() bool {
	for name, active := range p.queues.Dump() {
		if len(active) > 1 && !p.strict.Has(name) {
			return true
		}
	}
	return false
}

func (p *player) state() string {
	var lines []string
	for _, one := range p.seen {
		if text := told(one); text != "" {
			lines = append(lines, text)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

func (p *player) why() []string {
	var lines []string
	for _, one := range p.seen {
		if reserved := meta.FindStatusCondition(one.Status.Conditions, kueue.WorkloadQuotaReserved); reserved != nil && reserved.Status != metav1.ConditionTrue {
			lines = append(lines, one.Name+": "+reserved.Message)
		}
	}
	slices.Sort(lines)
	return lines
}

// release does what the owner of an evicted workload does once its pods are gone.
func (p *player) release() bool {
	var names []string
	for name, one := range p.seen {
		if isTrue(one, kueue.WorkloadEvicted) && isTrue(one, kueue.WorkloadQuotaReserved) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		var one kueue.Workload
		must(p.client.Get(p.ctx, client.ObjectKey{Namespace: "bench", Name: name}, &one))
		evicted := meta.FindStatusCondition(one.Status.Conditions, kueue.WorkloadEvicted)
		workload.SetRequeuedCondition(&one, evicted.Reason, evicted.Message, true)
		workload.UnsetQuotaReservationWithCondition(&one, "Pending", evicted.Message, p.clock.Now())
		must(p.client.Status().Update(p.ctx, &one))
	}
	p.observe()
	return len(names) > 0
}

func play(w world, loud bool) answer {
	p := newPlayer(w)
	said := answer{Seed: w.Seed}
	for _, one := range w.Steps {
		for _, raw := range one.Submit {
			p.submit(raw)
		}
		for _, name := range one.End {
			p.end(name)
		}
		states := []string{}
		for round := 0; ; round++ {
			p.clock.Step(time.Second)
			p.settle()
			if p.endless {
				said.Endless = true
				return said
			}
			states = append(states, p.state())
			if round == mostRounds {
				said.Circle = true
				break
			}
			if !p.release() {
				break
			}
		}
		said.Steps = append(said.Steps, states)
		if loud {
			said.Why = append(said.Why, p.why())
		}
		if said.Circle {
			break
		}
	}
	return said
}

func main() {
	ctrl.SetLogger(logr.Discard())
	// Where docs/kueue.md names a difference that a gate makes, the gate is set as Athanor decides.
	must(utilfeature.DefaultMutableFeatureGate.SetFromMap(map[string]bool{
		"PrioritizePreemptorWorkloads": true, "FlavorFungibilityPreserveScanProgress": false, "WorkloadRequestUseMergePatch": true}))
	mode := ""
	if len(os.Args) > 1 {
		mode = os.Args[1]
	}
	switch mode {
	case "--fields":
		printFields()
		return
	case "--metrics":
		printMetrics()
		return
	}
	loud := mode == "--why"
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		must(out.Encode(play(*read[world](lines.Bytes()), loud)))
	}
	must(lines.Err())
}
