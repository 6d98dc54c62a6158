// Kubernetes' API accepts each document of a manifest. Values are checked by the API's schema. Names are checked by the
// types generated from it, because the schema accepts unknown names. kubernetes.mjs MANIFEST..., with READERS (the
// folder of the packages) and TSC.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';

const readers = process.env.READERS ?? '';
const require = createRequire(join(readers, 'package.json'));
const yaml = require('yaml');

/* Returns the documents of a manifest. */
function documents(text) {
  return yaml.parseAllDocuments(text).map((d) => {
    assert.deepEqual(d.errors, []);
    return d.toJS();
  });
}

/* Returns the errors of the API's schema. */
function valuesOf(doc) {
  const model = require(`kubernetes-models/${doc.apiVersion}/${doc.kind}`)[doc.kind];
  try {
    new model(doc).validate();
    return '';
  } catch (error) {
    return String(error.message);
  }
}

/* Returns the errors of the types. */
function namesOf(docs) {
  const folder = mkdtempSync(join(readers, 'manifest.'));
  try {
    docs.forEach((doc, i) => {
      const type = `I${doc.kind}`;
      const text = `import type { ${type} } from "kubernetes-models/${doc.apiVersion}/${doc.kind}";\nexport const it: ${type} = ${JSON.stringify(doc)};\n`;
      writeFileSync(join(folder, `${i}.ts`), text);
    });
    const files = docs.map((_, i) => join(folder, `${i}.ts`));
    const options = [
      '--noEmit',
      '--strict',
      '--skipLibCheck',
      '--module',
      'nodenext',
      '--moduleResolution',
      'nodenext',
    ];
    return spawnSync(process.execPath, [process.env.TSC ?? '', ...options, ...files], { encoding: 'utf8' }).stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const manifest = readFileSync(process.env.MANIFEST ?? '', 'utf8');

test('the manifest is what the API takes', () => {
  const docs = documents(manifest);
  assert.deepEqual(docs.map((d) => d.kind).sort(), ['Job', 'PersistentVolumeClaim', 'Service']);
  for (const doc of docs) assert.equal(valuesOf(doc), '', doc.kind);
  assert.equal(namesOf(docs), '');
});

test('what is wrong is found', () => {
  const [claim, , job] = documents(manifest);
  assert.match(valuesOf({ ...job, spec: { ...job.spec, completions: 'four' } }), /completions/);
  assert.match(namesOf([{ ...claim, spec: { ...claim.spec, acessModes: [] } }]), /acessModes/);
});

test('volumes are those that are mounted, and there is a place for the digests', () => {
  const job = documents(manifest).find((d) => d.kind === 'Job');
  const pod = job.spec.template.spec;
  const mounted = [...pod.initContainers, ...pod.containers].flatMap((c) => c.volumeMounts.map((m) => m.name));
  assert.deepEqual([...new Set(mounted)].sort(), pod.volumes.map((v) => v.name).sort());
  assert.ok(pod.volumes.some((v) => v.emptyDir) && pod.volumes.some((v) => v.persistentVolumeClaim));
});
