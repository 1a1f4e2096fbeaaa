// SPDX-License-Identifier: Apache-2.0

// The upstream plugin NodeResourceTopologyMatch over the nodes of `athanor_placement_bench numa`: its Filter and its score
// LeastNUMANodes, with the cache that a scheduler of the operator runs it with. Prints one line for each figure, processor
// time of the process (the garbage collector's with it). Figures beside ours, without a target.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"sort"
	"syscall"

	topology "github.com/k8stopologyawareschedwg/noderesourcetopology-api/pkg/apis/topology/v1alpha2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/scheduler-plugins/apis/config"
	"sigs.k8s.io/scheduler-plugins/pkg/noderesourcetopology"
)

const zonesPerNode = 8

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "zones_upstream:", err)
		os.Exit(1)
	}
}

// handle is what the plugin asks of a scheduler when it is made.
type handle struct {
	framework.Handle
	config  *rest.Config
	factory informers.SharedInformerFactory
}

func (h handle) KubeConfig() *rest.Config                               { return h.config }
func (h handle) SharedInformerFactory() informers.SharedInformerFactory { return h.factory }

func quantity(text string) resource.Quantity { return resource.MustParse(text) }

// nodeOf returns the node with this number as node_of() of bench/athanor_placement_bench.cpp makes it.
func nodeOf(number int) topology.NodeResourceTopology {
	node := topology.NodeResourceTopology{
		TypeMeta:   metav1.TypeMeta{APIVersion: "topology.node.k8s.io/v1alpha2", Kind: "NodeResourceTopology"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", number), ResourceVersion: "1"},
		Attributes: topology.AttributeList{
			{Name: "topologyManagerPolicy", Value: "single-numa-node"}, {Name: "topologyManagerScope", Value: "container"}},
	}
	for z := 0; z < zonesPerNode; z++ {
		zone := topology.Zone{Name: fmt.Sprintf("node-%d", z), Type: "Node"}
		for name, amount := range map[string]resource.Quantity{
			"cpu": quantity(fmt.Sprint(2 + (number+z)%7)), "memory": quantity("64Gi"), "vendor.io/nic": quantity(fmt.Sprint(z % 3))} {
			zone.Resources = append(zone.Resources, topology.ResourceInfo{Name: name, Capacity: amount, Allocatable: amount, Available: amount})
		}
		for other := 0; other < zonesPerNode; other++ {
			distance := int64(21)
			if other == z {
				distance = 10
			} else if other/2 == z/2 {
				distance = 12
			}
			zone.Costs = append(zone.Costs, topology.CostInfo{Name: fmt.Sprintf("node-%d", other), Value: distance})
		}
		node.Zones = append(node.Zones, zone)
	}
	return node
}

func podOf(cpus string) *corev1.Pod {
	requests := corev1.ResourceList{"cpu": quantity(cpus), "memory": quantity("1Gi"), "vendor.io/nic": quantity("1")}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "bench", UID: "u"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests, Limits: requests}}}},
	}
}

// serve answers the plugin's list of all nodes' zones; its watch hangs.
func serve(nodes []topology.NodeResourceTopology) *httptest.Server {
	list, err := json.Marshal(topology.NodeResourceTopologyList{
		TypeMeta: metav1.TypeMeta{APIVersion: "topology.node.k8s.io/v1alpha2", Kind: "NodeResourceTopologyList"},
		ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: nodes})
	check(err)
	const group = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"topology.node.k8s.io/v1alpha2","resources":[` +
		`{"name":"noderesourcetopologies","singularName":"","namespaced":false,"kind":"NodeResourceTopology","verbs":["get","list","watch"]}]}`
	return httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, in *http.Request) {
		out.Header().Set("Content-Type", "application/json")
		switch {
		case in.URL.Query().Get("watch") != "":
			<-in.Context().Done()
		case in.URL.Path == "/apis/topology.node.k8s.io/v1alpha2":
			_, _ = out.Write([]byte(group))
		case in.URL.Path == "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies":
			_, _ = out.Write(list)
		default:
			http.NotFound(out, in)
		}
	}))
}

func pluginOver(nodes []topology.NodeResourceTopology, strategy config.ScoringStrategyType) *noderesourcetopology.TopologyMatch {
	server := serve(nodes)
	access := &rest.Config{Host: server.URL}
	client, err := kubernetes.NewForConfig(access)
	check(err)
	none, onlyResources := config.ForeignPodsDetectNone, config.CacheResyncScopeOnlyResources
	made, err := noderesourcetopology.New(context.Background(), &config.NodeResourceTopologyMatchArgs{
		ScoringStrategy: config.ScoringStrategy{
			Type: strategy, Resources: []schedulerconfig.ResourceSpec{{Name: "cpu", Weight: 1}, {Name: "memory", Weight: 1}}},
		CacheResyncPeriodSeconds: 3600,
		Cache:                    &config.NodeResourceTopologyCache{ForeignPodsDetect: &none, ResyncScope: &onlyResources},
	}, handle{config: access, factory: informers.NewSharedInformerFactory(client, 0)})
	check(err)
	return made.(*noderesourcetopology.TopologyMatch)
}

func infosOf(nodes []topology.NodeResourceTopology) []*framework.NodeInfo {
	var infos []*framework.NodeInfo
	for _, node := range nodes {
		info := framework.NewNodeInfo()
		info.SetNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}, Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			"cpu": quantity("64"), "memory": quantity("512Gi"), "vendor.io/nic": quantity("8"), "pods": quantity("110")}}})
		infos = append(infos, info)
	}
	return infos
}

func processorUs() float64 {
	var used syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return float64(used.Utime.Sec+used.Stime.Sec)*1e6 + float64(used.Utime.Usec+used.Stime.Usec)
}

// timing prints the median and 99th percentile of a call; each sample is the mean of `batch` calls.
func timing(name string, samples, batch int, work func()) {
	work() // what is made once
	var times []float64
	for i := 0; i < samples; i++ {
		start := processorUs()
		for j := 0; j < batch; j++ {
			work()
		}
		times = append(times, (processorUs()-start)/float64(batch))
	}
	sort.Float64s(times)
	at := func(share float64) float64 { return times[int(share*float64(len(times)-1))] }
	fmt.Printf("%-58s %16s   upstream's plugin, as a measure\n", name, fmt.Sprintf("%.1f / %.1f us", at(0.5), at(0.99)))
}

// passing returns how many nodes the plugin lets the pod onto.
func passing(plugin *noderesourcetopology.TopologyMatch, infos []*framework.NodeInfo, pod *corev1.Pod) int {
	passed := 0
	for _, info := range infos {
		if plugin.Filter(context.Background(), nil, pod, info).IsSuccess() {
			passed++
		}
	}
	return passed
}

func filter(count int) {
	var nodes []topology.NodeResourceTopology
	for i := 0; i < count; i++ {
		nodes = append(nodes, nodeOf(i))
	}
	plugin, infos, pod := pluginOver(nodes, config.LeastNUMANodes), infosOf(nodes), podOf("7")
	// 7 cpus and a NIC are free in one zone of each node, 9 cpus in none.
	if passing(plugin, infos, pod) != count || passing(plugin, infos, podOf("9")) != 0 {
		check(fmt.Errorf("the filter does not see the zones"))
	}
	timing(fmt.Sprintf("upstream: filter of one pod over %d nodes of 8 zones", count), 25000/count, 1, func() { passing(plugin, infos, pod) })
}

func leastNumaNodes() {
	nodes := []topology.NodeResourceTopology{nodeOf(1)}
	plugin, pod := pluginOver(nodes, config.LeastNUMANodes), podOf("20")
	ctx, score := context.Background(), int64(0)
	timing("upstream: LeastNUMANodes over 8 zones", 100, 20, func() { score, _ = plugin.Score(ctx, nil, pod, nodes[0].Name) })
	if score == 0 {
		check(fmt.Errorf("no zones were found for the pod"))
	}
}

func main() {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard) // level 0, as without a flag
	log.SetLogger(klog.Background())
	runtime.GOMAXPROCS(2)
	filter(500)
	filter(5000)
	leastNumaNodes()
}
