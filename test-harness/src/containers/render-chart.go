// Renders a chart as `helm template` does, with the libraries that Helm itself uses, which Debian has; Debian has no Helm.
// It knows only the parts of Helm that the chart in deploy/helm uses.
//
// Arguments: the chart's folder, and values as JSON that override values.yaml. Output: a JSON object with the text of each
// rendered file. Exit code 1 and a message for refused values.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"github.com/xeipuuv/gojsonschema"
	"sigs.k8s.io/yaml"
)

func main() {
	rendered, err := render(os.Args[1], os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(rendered)
}

func render(folder, overrides string) (map[string]string, error) {
	var chart, values, given map[string]interface{}
	if err := read(filepath.Join(folder, "Chart.yaml"), &chart); err != nil {
		return nil, err
	}
	if err := read(filepath.Join(folder, "values.yaml"), &values); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(overrides), &given); err != nil {
		return nil, err
	}
	merge(values, given)
	schema, err := os.ReadFile(filepath.Join(folder, "values.schema.json"))
	if err != nil {
		return nil, err
	}
	result, err := gojsonschema.Validate(gojsonschema.NewBytesLoader(schema), gojsonschema.NewGoLoader(values))
	if err != nil {
		return nil, err
	}
	if !result.Valid() {
		problems := []string{}
		for _, problem := range result.Errors() {
			problems = append(problems, problem.String())
		}
		return nil, errors.New(strings.Join(problems, "\n"))
	}

	root := template.New("chart").Option("missingkey=zero")
	functions := sprig.TxtFuncMap()
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := yaml.Marshal(value)
		return strings.TrimSuffix(string(text), "\n"), err
	}
	functions["include"] = func(name string, data interface{}) (string, error) {
		var text bytes.Buffer
		err := root.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	root.Funcs(functions)
	files, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if _, err := root.New(filepath.Base(file)).Parse(string(text)); err != nil {
			return nil, err
		}
	}
	data := map[string]interface{}{
		"Values":  values,
		"Chart":   map[string]interface{}{"Name": chart["name"], "Version": chart["version"], "AppVersion": chart["appVersion"]},
		"Release": map[string]interface{}{"Name": "drill", "Namespace": "streams", "Service": "Helm"},
	}
	rendered := map[string]string{}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var text bytes.Buffer
		if err := root.ExecuteTemplate(&text, name, data); err != nil {
			return nil, err
		}
		// Helm does the same: missingkey=zero prints this for a missing value.
		rendered[name] = strings.ReplaceAll(text.String(), "<no value>", "")
	}
	return rendered, nil
}

func read(file string, into *map[string]interface{}) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(text, into)
}

func merge(into, from map[string]interface{}) {
	for key, value := range from {
		inner, isMap := value.(map[string]interface{})
		target, hasMap := into[key].(map[string]interface{})
		if isMap && hasMap {
			merge(target, inner)
		} else {
			into[key] = value
		}
	}
}
