BEGIN TRANSACTION;
CREATE TABLE cache (
	kind VARCHAR(32) NOT NULL, 
	"key" VARCHAR(64) NOT NULL, 
	value BLOB NOT NULL, 
	PRIMARY KEY (kind, "key")
);
INSERT INTO "cache" VALUES('embedding','21a7a07fea1fda52333630924ac6941b',X'00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000803F00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "cache" VALUES('embedding','035444c40605bb51d480ac7d95a4bdac',X'000000000000000000000000000000000000000078D6883E00000000000000000000000000000000000000000000000000000000000000000000000078D6883E000000000000000000000000000000000000000078D6883E78D6883E000000000000000000000000000000000000000078D6883E0000000078D6883E0000000000000000000000000000000000000000000000000000000078D6883E000000000000000078D6883E00000000000000000000000000000000000000000000000000000000000000000000000078D6883E0000000000000000000000000000000000000000000000000000000078D6083F0000000078D6883E0000000000000000');
CREATE TABLE corpora (
	id VARCHAR(64) NOT NULL, 
	name TEXT NOT NULL, 
	created FLOAT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "corpora" VALUES('8b970939b2294f0e','notes',1.79536237844986605646e+09);
CREATE TABLE cuts (
	build VARCHAR(64) NOT NULL, 
	document_id VARCHAR(64) NOT NULL, 
	spans BLOB NOT NULL, 
	PRIMARY KEY (build, document_id)
);
INSERT INTO "cuts" VALUES('f1dc573b75960862','8deda5f074bce23e',X'000000003E0000001000000040000000690000000A000000');
INSERT INTO "cuts" VALUES('f1dc573b75960862','d53c76044854b1e3',X'000000001500000012000000150000001C00000007000000');
CREATE TABLE documents (
	corpus_id VARCHAR(64) NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	name TEXT NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	characters INTEGER NOT NULL, 
	language VARCHAR(16) NOT NULL, 
	media_type TEXT NOT NULL, 
	content_hash VARCHAR(64) NOT NULL, 
	size BIGINT NOT NULL, 
	pages TEXT NOT NULL, 
	page_count INTEGER NOT NULL, 
	warnings TEXT NOT NULL, 
	error TEXT NOT NULL, 
	added FLOAT NOT NULL, 
	text TEXT NOT NULL, 
	PRIMARY KEY (corpus_id, id)
);
INSERT INTO "documents" VALUES('8b970939b2294f0e','c6fd8ffbdbaead78','empty.txt','error',0,'und','','e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',0,'[]',0,'[]','The file is empty (0 bytes): add it again, or leave it out.',1.7953623784652264118e+09,'');
INSERT INTO "documents" VALUES('8b970939b2294f0e','8deda5f074bce23e','pumps.md','replaced',106,'en','text/markdown','c87464b6bca1734009c48abb390254a9601b987ad588ccc227dd2e5cea7fe230',106,'[]',0,'[]','',1.7953623784877893925e+09,'# Pumps

The north pump was replaced in May 2023 by Ada Quill.

The south pump was repaired in June 2022.
');
INSERT INTO "documents" VALUES('8b970939b2294f0e','d53c76044854b1e3','阀门.txt','ok',28,'zh','text/plain','3e8742e3b194447348a5849fddf44df7a4914169617df26b82b1253ea7e8ebf8',76,'[]',0,'[]','',1.79536237851497650153e+09,'北阀门于2021年更换。检修周期为三十天。负责人是王芳。');
INSERT INTO "documents" VALUES('8b970939b2294f0e','58360830a3696185','pumps.md','ok',72,'en','text/markdown','f1be57d68545a5bc87b3d1a335b474b840fc05598fd674e551f2a7c8c4fb8196',72,'[]',0,'[]','',1.79536238311618280409e+09,'# Pumps

The north pump was replaced in May 2023 by Ada Quill. It hums.
');
CREATE TABLE indexes (
	id VARCHAR(64) NOT NULL, 
	corpus_id VARCHAR(64) NOT NULL, 
	name TEXT NOT NULL, 
	config TEXT NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	build VARCHAR(64) NOT NULL, 
	documents TEXT NOT NULL, 
	chunks INTEGER NOT NULL, 
	tokens BIGINT NOT NULL, 
	dims INTEGER NOT NULL, 
	embedder_identity TEXT NOT NULL, 
	created FLOAT NOT NULL, 
	built FLOAT, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "indexes" VALUES('64cdc9bf547090a9','8b970939b2294f0e','small','{"chunker": "sentences", "chunk_size": 20, "overlap": 0, "embedder": "openai:loopback", "backend": "local", "similarity": "cosine", "options": {}}','ready','f1dc573b75960862','["8deda5f074bce23e", "d53c76044854b1e3"]',4,51,64,'openai:loopback@http://127.0.0.1:37197/v1',1.79536237870222473147e+09,1.79536238219040060045e+09);
CREATE TABLE jobs (
	id VARCHAR(64) NOT NULL, 
	kind VARCHAR(32) NOT NULL, 
	title TEXT NOT NULL, 
	corpus_id VARCHAR(64) NOT NULL, 
	arguments TEXT NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	done INTEGER NOT NULL, 
	total INTEGER, 
	unit TEXT NOT NULL, 
	message TEXT NOT NULL, 
	created FLOAT NOT NULL, 
	started FLOAT, 
	heartbeat FLOAT, 
	finished FLOAT, 
	host TEXT NOT NULL, 
	pid INTEGER, 
	pid_started FLOAT, 
	cancel BOOLEAN NOT NULL, 
	result TEXT NOT NULL, 
	error TEXT NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "jobs" VALUES('29468f0b37c4e3f2','index','Build small','8b970939b2294f0e','{"corpus": "notes", "name": "small", "config": {"chunker": "sentences", "chunk_size": 20, "overlap": 0, "embedder": "openai:loopback", "backend": "local", "similarity": "cosine", "options": {}}, "fresh": false}','done',4,4,'chunks','Publishing',1.79536237867623066897e+09,1.79536237868592810627e+09,1.79536238171999764441e+09,1.79536238222224211686e+09,'elsewhere',1,1795362374.91,0,'{"index": "small", "chunks": 4, "added": 4, "removed": 0, "embedded": 4, "longer_than_read": 0}','');
INSERT INTO "jobs" VALUES('b1930a331f87c6c4','run','Run first','8b970939b2294f0e','{"name": "first", "config": {"index": "64cdc9bf547090a9", "questions": "3a6915d29c3b1268", "retriever": "hybrid", "k": 3, "depth": 50, "seed": 0, "rrf_constant": 60}}','done',3,3,'questions','Retrieving',1.79536238256537342074e+09,1.79536238257805752754e+09,1.79536238257805776594e+09,1.79536238294745922093e+09,'elsewhere',1,1795362374.91,0,'{"run": "first", "fingerprint": "62c46ebb370f9c36"}','');
CREATE TABLE question_sets (
	id VARCHAR(64) NOT NULL, 
	corpus_id VARCHAR(64) NOT NULL, 
	name TEXT NOT NULL, 
	created FLOAT NOT NULL, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "question_sets" VALUES('3a6915d29c3b1268','8b970939b2294f0e','asked',1.79536238247331047059e+09);
CREATE TABLE questions (
	set_id VARCHAR(64) NOT NULL, 
	id VARCHAR(64) NOT NULL, 
	position INTEGER NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	body TEXT NOT NULL, 
	PRIMARY KEY (set_id, id)
);
INSERT INTO "questions" VALUES('3a6915d29c3b1268','4b137f137f3ba479',1,'accepted','{"id": "4b137f137f3ba479", "text": "谁负责阀门？", "answer": "王芳", "evidence": [[["d53c76044854b1e3", 21, 27, "负责人是王芳", false]]], "generator": "import", "status": "accepted", "reason": "", "language": "zh", "source_chunks": []}');
INSERT INTO "questions" VALUES('3a6915d29c3b1268','1a94d5ef48f2c6ce',2,'accepted','{"id": "1a94d5ef48f2c6ce", "text": "Who owns the east pump?", "answer": "", "evidence": [], "generator": "import", "status": "accepted", "reason": "", "language": "en", "source_chunks": []}');
INSERT INTO "questions" VALUES('3a6915d29c3b1268','239ad4b19fa6bff5',0,'accepted','{"id": "239ad4b19fa6bff5", "text": "When was the north pump replaced?", "answer": "May 2023", "evidence": [[["58360830a3696185", 9, 48, "The north pump was replaced in May 2023", false]]], "generator": "import", "status": "accepted", "reason": "", "language": "en", "source_chunks": []}');
CREATE TABLE results (
	run_id VARCHAR(64) NOT NULL, 
	question_id VARCHAR(64) NOT NULL, 
	position INTEGER NOT NULL, 
	question TEXT NOT NULL, 
	ranking TEXT NOT NULL, 
	gold TEXT NOT NULL, 
	PRIMARY KEY (run_id, question_id)
);
INSERT INTO "results" VALUES('ae31774e2a11d2e2','239ad4b19fa6bff5',0,'{"id": "239ad4b19fa6bff5", "text": "When was the north pump replaced?", "answer": "May 2023", "evidence": [[["8deda5f074bce23e", 9, 48, "The north pump was replaced in May 2023", false]]], "generator": "import", "status": "accepted", "reason": "", "language": "en", "source_chunks": []}','[["8deda5f074bce23e-00000000-00000062", "8deda5f074bce23e-00000064-00000105", "d53c76044854b1e3-00000000-00000021", "d53c76044854b1e3-00000021-00000028"], [0.03278688524590164, 0.03225806451612903, 0.015873015873015872, 0.015625]]','[["8deda5f074bce23e-00000000-00000062"]]');
INSERT INTO "results" VALUES('ae31774e2a11d2e2','4b137f137f3ba479',1,'{"id": "4b137f137f3ba479", "text": "谁负责阀门？", "answer": "王芳", "evidence": [[["d53c76044854b1e3", 21, 27, "负责人是王芳", false]]], "generator": "import", "status": "accepted", "reason": "", "language": "zh", "source_chunks": []}','[["d53c76044854b1e3-00000021-00000028", "d53c76044854b1e3-00000000-00000021", "8deda5f074bce23e-00000000-00000062", "8deda5f074bce23e-00000064-00000105"], [0.03278688524590164, 0.03225806451612903, 0.015873015873015872, 0.015625]]','[["d53c76044854b1e3-00000021-00000028"]]');
INSERT INTO "results" VALUES('ae31774e2a11d2e2','1a94d5ef48f2c6ce',2,'{"id": "1a94d5ef48f2c6ce", "text": "Who owns the east pump?", "answer": "", "evidence": [], "generator": "import", "status": "accepted", "reason": "", "language": "en", "source_chunks": []}','[["8deda5f074bce23e-00000000-00000062", "8deda5f074bce23e-00000064-00000105", "d53c76044854b1e3-00000000-00000021", "d53c76044854b1e3-00000021-00000028"], [0.03252247488101534, 0.03252247488101534, 0.015873015873015872, 0.015625]]','[]');
CREATE TABLE runs (
	id VARCHAR(64) NOT NULL, 
	corpus_id VARCHAR(64) NOT NULL, 
	name TEXT NOT NULL, 
	config TEXT NOT NULL, 
	fingerprint VARCHAR(64) NOT NULL, 
	provenance TEXT NOT NULL, 
	status VARCHAR(16) NOT NULL, 
	created FLOAT NOT NULL, 
	finished FLOAT, 
	PRIMARY KEY (id), 
	UNIQUE (name)
);
INSERT INTO "runs" VALUES('ae31774e2a11d2e2','8b970939b2294f0e','first','{"index": "64cdc9bf547090a9", "questions": "3a6915d29c3b1268", "retriever": "hybrid", "k": 3, "depth": 50, "seed": 0, "rrf_constant": 60}','62c46ebb370f9c36','{"identity": {"corpus": "389e4293331fcebb", "depth": "50", "embedder": "openai:loopback@http://127.0.0.1:37197/v1", "index": "92baf059ffb26c2e", "k": "3", "metrics": "4489ba0142e31f14", "questions": "2f324fb82a7f0dae", "retriever": "hybrid", "rrf_constant": "60", "seed": "0"}, "index": "small", "index_config": {"backend": "local", "chunk_size": 20, "chunker": "sentences", "embedder": "openai:loopback", "options": {}, "overlap": 0, "similarity": "cosine"}, "n": 3, "questions": "asked", "ragviz": "0.1.0"}','done',1.79536238260186696048e+09,1.79536238292256331442e+09);
CREATE TABLE schema_version (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "schema_version" VALUES(1);
CREATE INDEX ix_indexes_corpus_id ON indexes (corpus_id);
CREATE INDEX ix_question_sets_corpus_id ON question_sets (corpus_id);
CREATE INDEX ix_runs_corpus_id ON runs (corpus_id);
COMMIT;
