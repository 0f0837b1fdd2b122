// What the tests need of promtool, with promtool's own test runner: "check rules" and "test rules".
//
// tests/harness/promtool.py compiles it in the source of Prometheus, in the place of promtool's
// main.go, which would bring a client of Kubernetes and twice the time of the build with it.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"

	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

const (
	successExitCode = 0
	failureExitCode = 1
	usageExitCode   = 2
)

func main() {
	if len(os.Args) != 4 || os.Args[2] != "rules" {
		usage()
	}
	file := os.Args[3]
	parsing := parser.NewParser(parser.Options{})
	switch os.Args[1] {
	case "check":
		os.Exit(checkRules(file, parsing))
	case "test":
		options := promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true}
		os.Exit(RulesUnitTest(options, parsing, nil, false, false, false, file))
	default:
		usage()
	}
}

// checkRules parses a file as a server does that loads it, and finds rules that come twice.
func checkRules(file string, parsing parser.Parser) int {
	logger := promslog.New(&promslog.Config{})
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, parsing, logger)
	for _, err := range errs {
		fmt.Fprintln(os.Stderr, err)
	}
	if len(errs) > 0 {
		return failureExitCode
	}
	found := map[string]bool{}
	count, code := 0, successExitCode
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			count++
			labels := rules.FromMaps(group.Labels, rule.Labels)
			name := fmt.Sprintf("%s%s %s", rule.Alert, rule.Record, labels)
			if found[name] {
				fmt.Fprintf(os.Stderr, "%s: duplicate rule: %s\n", file, name)
				code = failureExitCode
			}
			found[name] = true
		}
	}
	fmt.Printf("%d rules found\n", count)
	return code
}

// parseTime reads when a case starts; the runner asks for it.
func parseTime(text string) (time.Time, error) {
	return time.Parse(time.RFC3339Nano, text)
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: promtool check|test rules FILE")
	os.Exit(usageExitCode)
}
