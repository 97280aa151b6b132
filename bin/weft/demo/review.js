export const meta = {
  name: 'review-change',
  description: 'Reads four files at once, checks what was found, and sums up',
  phases: [{ title: 'Read' }, { title: 'Verify' }],
};

phase('Read');
log(`${args.files.length} files to read`);
const findings = await parallel(
  args.files.map((file) => () => agent(`Read ${file} and report what could go wrong`, { label: file })),
);

phase('Verify');
const open = findings.filter((finding) => finding !== null);
log(`${open.length} findings to verify, ${findings.length - open.length} reader failed`);
const verdicts = await parallel(
  open.map((finding, i) => () => agent(`Verify: ${finding}`, { label: `verify ${i + 1}` })),
);

log('summing up');
const summary = await agent(`Sum up: ${verdicts.join('; ')}`, { label: 'summary' });
return { findings: open.length, summary };
