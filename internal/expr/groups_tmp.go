package expr

var numericFunctions, textFunctions, patternFunctions, hashFunctions, timeFunctions, timestampFunctions []*function
