// Source of the samples: something of everything that bytecode refers to.
var shared = 'a string that both have';
function numbers(x) {
  switch (x) {
    case 1: return 'one';
    case 2: return 'two';
    case 3: return 'three';
    case 4: return 'four';
    case 5: return 5.5;
    case 6: return 70000;
    case 7: return /ab+c/gi;
    default: return -1;
  }
}
function words(x) {
  'use strict';
  switch (x) {
    case 'alpha': return 1;
    case 'beta': return 2;
    case 'gamma': return 3;
    case 'delta': return 4;
    case 'epsilon': return 5;
    case 'zeta': return 6;
    case 'eta': return 7;
    case 'theta': return 8;
    case 'iota': return 9;
    case 'kappa': return 10;
  }
  delete x.foo;
  return undefined;
}
function careful(object) {
  try {
    return object.first + object['second name'];
  } catch (error) {
    return error.message;
  } finally {
    print('done');
  }
}
function* counting() {
  yield 1;
  yield [1, 2, 3, 'literal', null, true, 1.5];
}
function Point() {
  this.x = 1;
  this.y = 2;
}
var object = { first: 1, second: 'two', third: null, nested: { deep: 1, list: [1, 2, 'x'] }, 5: 'number', 'é': 'ü€' };
var accessors = { get area() { return 123456789012345678901234567890n; }, set area(value) { } };
globalThis.api = { numbers, words, careful, counting, Point, object, accessors, async later() { await 1; }, [String(shared)]: eval };
