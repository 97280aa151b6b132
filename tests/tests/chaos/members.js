phase('Ask');
log('two at once');
await parallel(['a', 'b'].map((name) => () => agent(`Ask ${name}`, { label: name })));
phase('Sum up');
return await agent('Sum up', { label: 'c' });
