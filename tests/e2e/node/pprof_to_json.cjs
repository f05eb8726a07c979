// SPDX-License-Identifier: Apache-2.0
// A pprof profile on stdin to JSON on stdout, read by npm's pprof-format, a decoder that has nothing
// to do with jbpf. Numbers that JSON cannot hold become strings.
// Usage: node pprof_to_json.cjs FOLDER_OF_NODE_MODULES
"use strict";
const fs = require("fs");
const zlib = require("zlib");

const { Profile } = require(require.resolve("pprof-format", { paths: [process.argv[2]] }));
const profile = Profile.decode(zlib.gunzipSync(fs.readFileSync(0)));

// The string table is an object of its own there, with nothing but its strings to tell.
const text = JSON.stringify({ ...profile, stringTable: profile.stringTable.strings }, (key, value) =>
	typeof value === "bigint" ? Number.isSafeInteger(Number(value)) ? Number(value) : String(value) : value);
fs.writeFileSync(1, text);
