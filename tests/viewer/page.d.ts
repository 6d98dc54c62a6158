/** The page's own, in its console: what a test's function sees there. Which kind a chart is of the test knows. */
declare const memprof: Omit<import('../../viewer/src/app.js').App, 'charts'> & { charts: any[] };
