/** The page's app, as a test's function sees it in the page. The test knows the kind of each chart. */
declare const memprof: Omit<import('../../viewer/src/app.js').App, 'charts'> & { charts: any[] };
