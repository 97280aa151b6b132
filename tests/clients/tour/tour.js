export const meta = {
  name: 'tour',
  description: 'Looks at each file and sums up',
  phases: [{ title: 'Look' }, { title: 'Sum up' }],
};

phase('Look');
log(`${args.files.length} files to look at`);
const seen = await parallel(args.files.map((file) => () => agent(`Look at ${file}`, { label: file })));

phase('Sum up');
return await agent(`Sum up: ${seen.join('; ')}`, { label: 'sum up' });
