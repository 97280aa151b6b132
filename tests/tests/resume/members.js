export const meta = { name: 'forty', description: 'Forty members in three stages' };
// Were the clock or chance another one after a resume, every prompt would be another one as well.
const salt = `${Date.now()} ${Math.random()}`;
phase('Find');
const found = await parallel(Array.from({ length: 20 }, (_, i) => () => agent(`find ${i} [${salt}]`)));
phase('Check');
const checked = await pipeline(found, (text, _item, i) => (i < 19 ? agent(`check ${i}: ${text.split(' ')[1]}`) : 'nothing to check'));
phase('Sum up');
return { found: found.map((text) => text.replace(salt, '')), checked, sum: await agent(`sum up ${checked.length}`) };
