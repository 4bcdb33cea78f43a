BEGIN TRANSACTION;
CREATE TABLE cache (
    kind VARCHAR(32) NOT NULL, "key" VARCHAR(64) NOT NULL, value BLOB NOT NULL, PRIMARY KEY (kind, "key")
);
INSERT INTO "cache" VALUES('embedding','10919c1b7bda011cb057d5609ca1f2d4',X'00000000B25F9A3E00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000B25F9A3E00000000B25F9A3E0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000B25F1A3F000000000000000000000000B25F1A3F000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "cache" VALUES('embedding','2ab18933d1932ba08f3902ccb32095ad',X'0000000000000000000000000000000000000000EC05D13E00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000EC05D13E000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000EC05D13E00000000000000000000000000000000EC05D13E00000000000000000000000000000000EC05D13E00000000000000000000000000000000000000000000000000000000EC05D13E00000000000000000000000000000000');
INSERT INTO "cache" VALUES('bank','34d991595496e1daf225ea7ca87c4d06',X'5B5B5B2232303233222C2022576869636820776F72647320636F6D706C65746520E2809C4D617920E280A6E2809D3F222C206E756C6C5D5D2C2022656E222C20226770742D346F2D6D696E69222C202231222C205B5B2262616E6B222C20226770742D346F2D6D696E69222C202231222C203231302C2032302C20302E30323034353235343939393938343533362C20342E3335652D30352C2066616C73652C20227B5C226B65795F7175657374696F6E735C223A205B7B5C226B65795C223A205C22323032335C222C205C227175657374696F6E5C223A205C22576869636820776F72647320636F6D706C65746520E2809C4D617920E280A6E2809D3F5C227D5D7D225D2C205B2262616E6B222C20226770742D346F2D6D696E69222C202231222C203232352C2031352C20302E3032343131363333353030303134343331382C20342E323735652D30352C2066616C73652C20227B5C22616E73776572735C223A205B7B5C226E756D6265725C223A20312C205C22616E7377657261626C655C223A2066616C73652C205C22616E737765725C223A205C225C227D5D7D225D5D5D');
INSERT INTO "cache" VALUES('model','19ed986a360432b49104a0b65709db9c',X'5B227B5C226B65795F7175657374696F6E735C223A205B7B5C226B65795C223A205C225C75383262335C222C205C227175657374696F6E5C223A205C22576869636820776F72647320636F6D706C657465205C75323031635C7537333862205C75323032365C75323031643F5C227D5D7D222C2039372C2031392C20302E303238335D');
INSERT INTO "cache" VALUES('model','1605e9cb2a4b0bb74e214e7c8b209dfd',X'5B227B5C22636C61696D735C223A205B5D2C205C2270617373616765735C223A205B7B5C22706173736167655C223A20312C205C2275736566756C5C223A2066616C73657D2C207B5C22706173736167655C223A20322C205C2275736566756C5C223A2066616C73657D2C207B5C22706173736167655C223A20332C205C2275736566756C5C223A2066616C73657D5D7D222C203237372C2033312C20302E303234345D');
INSERT INTO "cache" VALUES('bank','fd0fd15a7a5c86491cfd25b378bd916d',X'5B5B5B22E88AB3222C2022576869636820776F72647320636F6D706C65746520E2809CE78E8B20E280A6E2809D3F222C206E756C6C5D5D2C20227A68222C20226770742D346F2D6D696E69222C202231222C205B5B2262616E6B222C20226770742D346F2D6D696E69222C202231222C2039372C2031392C20302E3032383239313237393030303331333830372C20322E353935652D30352C2066616C73652C20227B5C226B65795F7175657374696F6E735C223A205B7B5C226B65795C223A205C22E88AB35C222C205C227175657374696F6E5C223A205C22576869636820776F72647320636F6D706C65746520E2809CE78E8B20E280A6E2809D3F5C227D5D7D225D2C205B2262616E6B222C20226770742D346F2D6D696E69222C202231222C203133342C2031352C20302E30313432343439303539393939333037382C20322E3931652D30352C2066616C73652C20227B5C22616E73776572735C223A205B7B5C226E756D6265725C223A20312C205C22616E7377657261626C655C223A2066616C73652C205C22616E737765725C223A205C225C227D5D7D225D5D5D');
CREATE TABLE corpora (
    id VARCHAR(64) NOT NULL, name TEXT NOT NULL, created FLOAT NOT NULL, PRIMARY KEY (id), UNIQUE (name)
);
INSERT INTO "corpora" VALUES('5d33724679ac04d5','notes',1.79536385261596584317e+09);
CREATE TABLE cuts (
    build VARCHAR(64) NOT NULL, document_id VARCHAR(64) NOT NULL, spans BLOB NOT NULL,
    PRIMARY KEY (build, document_id)
);
INSERT INTO "cuts" VALUES('189e7700fcf79c6f','8deda5f074bce23e',X'000000003E0000001000000040000000690000000A000000');
INSERT INTO "cuts" VALUES('189e7700fcf79c6f','d53c76044854b1e3',X'000000001500000012000000150000001C00000007000000');
CREATE TABLE documents (
    corpus_id VARCHAR(64) NOT NULL, id VARCHAR(64) NOT NULL, name TEXT NOT NULL, status VARCHAR(16) NOT NULL,
    characters INTEGER NOT NULL, language VARCHAR(16) NOT NULL, media_type TEXT NOT NULL,
    content_hash VARCHAR(64) NOT NULL, size BIGINT NOT NULL, pages TEXT NOT NULL, page_count INTEGER NOT NULL,
    warnings TEXT NOT NULL, error TEXT NOT NULL, added FLOAT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (corpus_id, id)
);
INSERT INTO "documents" VALUES('5d33724679ac04d5','c6fd8ffbdbaead78','empty.txt','error',0,'und','','e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',0,'[]',0,'[]','The file is empty (0 bytes): add it again, or leave it out.',1.7953638526273031235e+09,'');
INSERT INTO "documents" VALUES('5d33724679ac04d5','8deda5f074bce23e','pumps.md','replaced',106,'en','text/markdown','c87464b6bca1734009c48abb390254a9601b987ad588ccc227dd2e5cea7fe230',106,'[]',0,'[]','',1.79536385263310098643e+09,'# Pumps

The north pump was replaced in May 2023 by Ada Quill.

The south pump was repaired in June 2022.
');
INSERT INTO "documents" VALUES('5d33724679ac04d5','d53c76044854b1e3','阀门.txt','ok',28,'zh','text/plain','3e8742e3b194447348a5849fddf44df7a4914169617df26b82b1253ea7e8ebf8',76,'[]',0,'[]','',1.79536385263741946225e+09,'北阀门于2021年更换。检修周期为三十天。负责人是王芳。');
INSERT INTO "documents" VALUES('5d33724679ac04d5','e77e6a1658be80f6','pumps.md','ok',115,'en','text/markdown','96d7266141ff821dab886acc1c3643ac36e105f004a895f07b8c2fdb25770f04',115,'[]',0,'[]','',1.79536385546517658238e+09,'# Pumps

The north pump was replaced in May 2023 by Ada Quill. It hums.

The south pump was repaired in June 2022.
');
CREATE TABLE indexes (
    id VARCHAR(64) NOT NULL, corpus_id VARCHAR(64) NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL,
    status VARCHAR(16) NOT NULL, build VARCHAR(64) NOT NULL, documents TEXT NOT NULL, chunks INTEGER NOT NULL,
    tokens BIGINT NOT NULL, dims INTEGER NOT NULL, embedder_identity TEXT NOT NULL, created FLOAT NOT NULL,
    built FLOAT, PRIMARY KEY (id), UNIQUE (name)
);
INSERT INTO "indexes" VALUES('b3efdf59b3fb1dee','5d33724679ac04d5','small','{"chunker": "sentences", "chunk_size": 20, "overlap": 0, "embedder": "openai:loopback", "backend": "local", "similarity": "cosine", "options": {}}','ready','189e7700fcf79c6f','["8deda5f074bce23e", "d53c76044854b1e3"]',4,51,64,'openai:loopback@http://127.0.0.1:37859/v1',1.79536385290308070188e+09,1.79536385408234143261e+09);
CREATE TABLE jobs (
    id VARCHAR(64) NOT NULL, kind VARCHAR(32) NOT NULL, title TEXT NOT NULL, corpus_id VARCHAR(64) NOT NULL,
    arguments TEXT NOT NULL, status VARCHAR(16) NOT NULL, done INTEGER NOT NULL, total INTEGER,
    unit TEXT NOT NULL, message TEXT NOT NULL, created FLOAT NOT NULL, started FLOAT, heartbeat FLOAT,
    finished FLOAT, host TEXT NOT NULL, pid INTEGER, pid_started FLOAT, cancel BOOLEAN NOT NULL,
    result TEXT NOT NULL, error TEXT NOT NULL, PRIMARY KEY (id)
);
INSERT INTO "jobs" VALUES('c14ce76158555d45','index','Build small','5d33724679ac04d5','{"corpus": "notes", "name": "small", "config": {"chunker": "sentences", "chunk_size": 20, "overlap": 0, "embedder": "openai:loopback", "backend": "local", "similarity": "cosine", "options": {}}, "fresh": false}','done',4,4,'chunks','Publishing',1.79536385272049927707e+09,1.79536385289360260961e+09,1.79536385389827895164e+09,1.79536385408895850183e+09,'elsewhere',1,1795363851.04,0,'{"index": "small", "chunks": 4, "added": 4, "removed": 0, "embedded": 4, "longer_than_read": 0}','');
INSERT INTO "jobs" VALUES('eee8dd79f93890de','run','Run first','5d33724679ac04d5','{"name": "first", "config": {"index": "b3efdf59b3fb1dee", "questions": "e534d93fdf0f337f", "retriever": "hybrid", "k": 3, "depth": 50, "seed": 0, "rrf_constant": 60, "answerer": "extractive", "model": "", "temperature": 0.0, "context_tokens": 3000, "metrics": ["faithfulness", "questeval_recall", "rouge_l", "token_f1"], "judge": "gpt-4o-mini", "context": "retrieved"}, "budget": null}','done',3,3,'questions','Answering and judging',1.79536385423381948472e+09,1.79536385424292826646e+09,1.79536385524689507484e+09,1.79536385536968708031e+09,'elsewhere',1,1795363851.04,0,'{"run": "first", "fingerprint": "1acf12ac110b7376", "failed": 0}','');
CREATE TABLE judgements (
    run_id VARCHAR(64) NOT NULL, question_id VARCHAR(64) NOT NULL, failed BOOLEAN NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (run_id, question_id)
);
INSERT INTO "judgements" VALUES('e1c233c14dc06766','1a94d5ef48f2c6ce',0,'{"answer":{"question_id":"1a94d5ef48f2c6ce","text":"The passages do not tell.","status":"refused","answerer":"extractive","context":["8deda5f074bce23e-00000000-00000062","8deda5f074bce23e-00000064-00000105","d53c76044854b1e3-00000000-00000021"],"cut":[],"citations":[],"wrong_citations":[],"reason":"no sentence shares 2 words with the question","version":"1","call":null},"matrix":{"chunks":["8deda5f074bce23e-00000000-00000062","8deda5f074bce23e-00000064-00000105","d53c76044854b1e3-00000000-00000021"],"answer_claims":[],"reference_claims":[],"answer_by_chunk":[],"reference_by_chunk":[],"answer_by_reference":null,"reference_by_answer":null,"useful":[false,false,false]},"asked_back":[],"noncommittal":false,"equivalence":null,"equivalence_reason":"","completeness":null,"conciseness":null,"bank":null,"bank_answers":null,"extractive_bank":null,"extractive_bank_answers":null,"similarity":null,"asked_back_similarity":null,"sentence_similarity":null,"failures":{},"calls":[{"step":"context","model":"gpt-4o-mini","prompt":"1","prompt_tokens":277,"completion_tokens":31,"seconds":0.024412537999978667,"cost":0.00006014999999999999,"cached":false,"raw":"{\"claims\": [], \"passages\": [{\"passage\": 1, \"useful\": false}, {\"passage\": 2, \"useful\": false}, {\"passage\": 3, \"useful\": false}]}"}]}');
INSERT INTO "judgements" VALUES('e1c233c14dc06766','4b137f137f3ba479',0,'{"answer":{"question_id":"4b137f137f3ba479","text":"所给的段落没有说明。","status":"refused","answerer":"extractive","context":["d53c76044854b1e3-00000021-00000028","d53c76044854b1e3-00000000-00000021","8deda5f074bce23e-00000000-00000062"],"cut":[],"citations":[],"wrong_citations":[],"reason":"no sentence shares 2 words with the question","version":"1","call":null},"matrix":{"chunks":["d53c76044854b1e3-00000021-00000028","d53c76044854b1e3-00000000-00000021","8deda5f074bce23e-00000000-00000062"],"answer_claims":[],"reference_claims":[{"text":"王芳","sentence":0}],"answer_by_chunk":[],"reference_by_chunk":[[{"verdict":"supported","sentence":0},{"verdict":"absent","sentence":null},{"verdict":"absent","sentence":null}]],"answer_by_reference":null,"reference_by_answer":null,"useful":[true,false,false]},"asked_back":[],"noncommittal":false,"equivalence":null,"equivalence_reason":"","completeness":null,"conciseness":null,"bank":{"items":[{"key":"芳","question":"Which words complete “王 …”?","answer":null}],"language":"zh","maker":"gpt-4o-mini","version":"1","calls":[{"step":"bank","model":"gpt-4o-mini","prompt":"1","prompt_tokens":97,"completion_tokens":19,"seconds":0.028291279000313807,"cost":0.00002595,"cached":false,"raw":"{\"key_questions\": [{\"key\": \"芳\", \"question\": \"Which words complete “王 …”?\"}]}"},{"step":"bank","model":"gpt-4o-mini","prompt":"1","prompt_tokens":134,"completion_tokens":15,"seconds":0.01424490599993078,"cost":0.0000291,"cached":false,"raw":"{\"answers\": [{\"number\": 1, \"answerable\": false, \"answer\": \"\"}]}"}]},"bank_answers":null,"extractive_bank":null,"extractive_bank_answers":null,"similarity":null,"asked_back_similarity":null,"sentence_similarity":null,"failures":{},"calls":[{"step":"bank","model":"gpt-4o-mini","prompt":"1","prompt_tokens":97,"completion_tokens":19,"seconds":0.028291279000313807,"cost":0.00002595,"cached":false,"raw":"{\"key_questions\": [{\"key\": \"芳\", \"question\": \"Which words complete “王 …”?\"}]}"},{"step":"reference","model":"gpt-4o-mini","prompt":"1","prompt_tokens":92,"completion_tokens":10,"seconds":0.025672469999790337,"cost":0.000019799999999999997,"cached":false,"raw":"{\"claims\": [{\"text\": \"王芳\", \"sentence\": 1}]}"},{"step":"bank","model":"gpt-4o-mini","prompt":"1","prompt_tokens":134,"completion_tokens":15,"seconds":0.01424490599993078,"cost":0.0000291,"cached":false,"raw":"{\"answers\": [{\"number\": 1, \"answerable\": false, \"answer\": \"\"}]}"},{"step":"context","model":"gpt-4o-mini","prompt":"1","prompt_tokens":167,"completion_tokens":52,"seconds":0.013979910000216478,"cost":0.00005625,"cached":false,"raw":"{\"claims\": [{\"claim\": 1, \"supported_by\": [{\"passage\": 1, \"sentence\": 1}], \"contradicted_by\": []}], \"passages\": [{\"passage\": 1, \"useful\": true}, {\"passage\": 2, \"useful\": false}, {\"passage\": 3, \"useful\": false}]}"}]}');
INSERT INTO "judgements" VALUES('e1c233c14dc06766','239ad4b19fa6bff5',0,'{"answer":{"question_id":"239ad4b19fa6bff5","text":"The north pump was replaced in May 2023 by Ada Quill [1].","status":"answered","answerer":"extractive","context":["8deda5f074bce23e-00000000-00000062","8deda5f074bce23e-00000064-00000105","d53c76044854b1e3-00000000-00000021"],"cut":[],"citations":[1],"wrong_citations":[],"reason":"","version":"1","call":null},"matrix":{"chunks":["8deda5f074bce23e-00000000-00000062","8deda5f074bce23e-00000064-00000105","d53c76044854b1e3-00000000-00000021"],"answer_claims":[{"text":"The north pump was replaced in May 2023 by Ada Quill [1].","sentence":0}],"reference_claims":[{"text":"May 2023","sentence":0}],"answer_by_chunk":[[{"verdict":"supported","sentence":1},{"verdict":"absent","sentence":null},{"verdict":"absent","sentence":null}]],"reference_by_chunk":[[{"verdict":"supported","sentence":1},{"verdict":"absent","sentence":null},{"verdict":"absent","sentence":null}]],"answer_by_reference":null,"reference_by_answer":null,"useful":[true,false,false]},"asked_back":["When was the north pump replaced? (0)","When was the north pump replaced? (1)","When was the north pump replaced? (2)"],"noncommittal":false,"equivalence":null,"equivalence_reason":"","completeness":null,"conciseness":null,"bank":{"items":[{"key":"2023","question":"Which words complete “May …”?","answer":null}],"language":"en","maker":"gpt-4o-mini","version":"1","calls":[{"step":"bank","model":"gpt-4o-mini","prompt":"1","prompt_tokens":210,"completion_tokens":20,"seconds":0.02045254999984536,"cost":0.0000435,"cached":false,"raw":"{\"key_questions\": [{\"key\": \"2023\", \"question\": \"Which words complete “May …”?\"}]}"},{"step":"bank","model":"gpt-4o-mini","prompt":"1","prompt_tokens":225,"completion_tokens":15,"seconds":0.024116335000144318,"cost":0.00004275,"cached":false,"raw":"{\"answers\": [{\"number\": 1, \"answerable\": false, \"answer\": \"\"}]}"}]},"bank_answers":[null],"extractive_bank":null,"extractive_bank_answers":null,"similarity":null,"asked_back_similarity":null,"sentence_similarity":null,"failures":{},"calls":[{"step":"reference","model":"gpt-4o-mini","prompt":"1","prompt_tokens":195,"completion_tokens":12,"seconds":0.03349330699984421,"cost":0.000036450000000000005,"cached":false,"raw":"{\"claims\": [{\"text\": \"May 2023\", \"sentence\": 1}]}"},{"step":"bank","model":"gpt-4o-mini","prompt":"1","prompt_tokens":210,"completion_tokens":20,"seconds":0.02045254999984536,"cost":0.0000435,"cached":false,"raw":"{\"key_questions\": [{\"key\": \"2023\", \"question\": \"Which words complete “May …”?\"}]}"},{"step":"claims","model":"gpt-4o-mini","prompt":"1","prompt_tokens":254,"completion_tokens":64,"seconds":0.029898325000431214,"cost":0.0000765,"cached":false,"raw":"{\"claims\": [{\"text\": \"The north pump was replaced in May 2023 by Ada Quill [1].\", \"sentence\": 1}], \"questions\": [\"When was the north pump replaced? (0)\", \"When was the north pump replaced? (1)\", \"When was the north pump replaced? (2)\"], \"noncommittal\": false}"},{"step":"bank","model":"gpt-4o-mini","prompt":"1","prompt_tokens":225,"completion_tokens":15,"seconds":0.024116335000144318,"cost":0.00004275,"cached":false,"raw":"{\"answers\": [{\"number\": 1, \"answerable\": false, \"answer\": \"\"}]}"},{"step":"questeval","model":"gpt-4o-mini","prompt":"1","prompt_tokens":237,"completion_tokens":15,"seconds":0.01211362599997301,"cost":0.00004455,"cached":false,"raw":"{\"answers\": [{\"number\": 1, \"answerable\": false, \"answer\": \"\"}]}"},{"step":"context","model":"gpt-4o-mini","prompt":"1","prompt_tokens":316,"completion_tokens":74,"seconds":0.028786053000203538,"cost":0.0000918,"cached":false,"raw":"{\"claims\": [{\"claim\": 1, \"supported_by\": [{\"passage\": 1, \"sentence\": 2}], \"contradicted_by\": []}, {\"claim\": 2, \"supported_by\": [{\"passage\": 1, \"sentence\": 2}], \"contradicted_by\": []}], \"passages\": [{\"passage\": 1, \"useful\": true}, {\"passage\": 2, \"useful\": false}, {\"passage\": 3, \"useful\": false}]}"}]}');
CREATE TABLE payments (
    run_id VARCHAR(64) NOT NULL, calls INTEGER NOT NULL, dollars FLOAT NOT NULL, PRIMARY KEY (run_id)
);
INSERT INTO "payments" VALUES('e1c233c14dc06766',11,5.26799999999999902892e-04);
CREATE TABLE question_sets (
    id VARCHAR(64) NOT NULL, corpus_id VARCHAR(64) NOT NULL, name TEXT NOT NULL, created FLOAT NOT NULL,
    PRIMARY KEY (id), UNIQUE (name)
);
INSERT INTO "question_sets" VALUES('e534d93fdf0f337f','5d33724679ac04d5','asked',1.79536385415774106975e+09);
CREATE TABLE questions (
    set_id VARCHAR(64) NOT NULL, id VARCHAR(64) NOT NULL, position INTEGER NOT NULL,
    status VARCHAR(16) NOT NULL, body TEXT NOT NULL, PRIMARY KEY (set_id, id)
);
INSERT INTO "questions" VALUES('e534d93fdf0f337f','4b137f137f3ba479',1,'accepted','{"id": "4b137f137f3ba479", "text": "谁负责阀门？", "answer": "王芳", "evidence": [[["d53c76044854b1e3", 21, 27, "负责人是王芳", false]]], "generator": "import", "status": "accepted", "reason": "", "language": "zh", "source_chunks": []}');
INSERT INTO "questions" VALUES('e534d93fdf0f337f','1a94d5ef48f2c6ce',2,'accepted','{"id": "1a94d5ef48f2c6ce", "text": "Who owns the east pump?", "answer": "", "evidence": [], "generator": "import", "status": "accepted", "reason": "", "language": "en", "source_chunks": []}');
INSERT INTO "questions" VALUES('e534d93fdf0f337f','239ad4b19fa6bff5',0,'accepted','{"id": "239ad4b19fa6bff5", "text": "When was the north pump replaced?", "answer": "May 2023", "evidence": [[["e77e6a1658be80f6", 9, 48, "The north pump was replaced in May 2023", false]]], "generator": "import", "status": "accepted", "reason": "", "language": "en", "source_chunks": []}');
CREATE TABLE results (
    run_id VARCHAR(64) NOT NULL, question_id VARCHAR(64) NOT NULL, position INTEGER NOT NULL,
    question TEXT NOT NULL, ranking TEXT NOT NULL, gold TEXT NOT NULL, PRIMARY KEY (run_id, question_id)
);
INSERT INTO "results" VALUES('e1c233c14dc06766','239ad4b19fa6bff5',0,'{"id": "239ad4b19fa6bff5", "text": "When was the north pump replaced?", "answer": "May 2023", "evidence": [[["8deda5f074bce23e", 9, 48, "The north pump was replaced in May 2023", false]]], "generator": "import", "status": "accepted", "reason": "", "language": "en", "source_chunks": []}','[["8deda5f074bce23e-00000000-00000062", "8deda5f074bce23e-00000064-00000105", "d53c76044854b1e3-00000000-00000021", "d53c76044854b1e3-00000021-00000028"], [0.03278688524590164, 0.03225806451612903, 0.015873015873015872, 0.015625]]','[["8deda5f074bce23e-00000000-00000062"]]');
INSERT INTO "results" VALUES('e1c233c14dc06766','4b137f137f3ba479',1,'{"id": "4b137f137f3ba479", "text": "谁负责阀门？", "answer": "王芳", "evidence": [[["d53c76044854b1e3", 21, 27, "负责人是王芳", false]]], "generator": "import", "status": "accepted", "reason": "", "language": "zh", "source_chunks": []}','[["d53c76044854b1e3-00000021-00000028", "d53c76044854b1e3-00000000-00000021", "8deda5f074bce23e-00000000-00000062", "8deda5f074bce23e-00000064-00000105"], [0.03278688524590164, 0.03225806451612903, 0.015873015873015872, 0.015625]]','[["d53c76044854b1e3-00000021-00000028"]]');
INSERT INTO "results" VALUES('e1c233c14dc06766','1a94d5ef48f2c6ce',2,'{"id": "1a94d5ef48f2c6ce", "text": "Who owns the east pump?", "answer": "", "evidence": [], "generator": "import", "status": "accepted", "reason": "", "language": "en", "source_chunks": []}','[["8deda5f074bce23e-00000000-00000062", "8deda5f074bce23e-00000064-00000105", "d53c76044854b1e3-00000000-00000021", "d53c76044854b1e3-00000021-00000028"], [0.03252247488101534, 0.03252247488101534, 0.015873015873015872, 0.015625]]','[]');
CREATE TABLE revisions (owner_id VARCHAR(64) NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (owner_id));
INSERT INTO "revisions" VALUES('5d33724679ac04d5',6);
INSERT INTO "revisions" VALUES('b3efdf59b3fb1dee',1);
INSERT INTO "revisions" VALUES('e534d93fdf0f337f',2);
INSERT INTO "revisions" VALUES('e1c233c14dc06766',4);
CREATE TABLE runs (
    id VARCHAR(64) NOT NULL, corpus_id VARCHAR(64) NOT NULL, name TEXT NOT NULL, config TEXT NOT NULL,
    fingerprint VARCHAR(64) NOT NULL, provenance TEXT NOT NULL, status VARCHAR(16) NOT NULL,
    created FLOAT NOT NULL, finished FLOAT, PRIMARY KEY (id), UNIQUE (name)
);
INSERT INTO "runs" VALUES('e1c233c14dc06766','5d33724679ac04d5','first','{"index": "b3efdf59b3fb1dee", "questions": "e534d93fdf0f337f", "retriever": "hybrid", "k": 3, "depth": 50, "seed": 0, "rrf_constant": 60, "answerer": "extractive", "model": "", "temperature": 0.0, "context_tokens": 3000, "metrics": ["faithfulness", "questeval_recall", "rouge_l", "token_f1"], "judge": "gpt-4o-mini", "context": "retrieved"}','1acf12ac110b7376','{"identity": {"answerer": "extractive", "context": "retrieved", "context_tokens": "3000", "corpus": "389e4293331fcebb", "depth": "50", "embedder": "openai:loopback@http://127.0.0.1:37859/v1", "index": "92baf059ffb26c2e", "judge": "gpt-4o-mini", "judgement": "31ad115e026e2fcd", "k": "3", "metrics": "4489ba0142e31f14", "model": "", "questions": "2f324fb82a7f0dae", "retriever": "hybrid", "rrf_constant": "60", "seed": "0", "temperature": "0.0"}, "index": "small", "index_config": {"backend": "local", "chunk_size": 20, "chunker": "sentences", "embedder": "openai:loopback", "options": {}, "overlap": 0, "similarity": "cosine"}, "n": 3, "questions": "asked", "ragviz": "0.1.0"}','done',1.79536385425667619703e+09,1.79536385536647152905e+09);
CREATE TABLE schema_version (
	version INTEGER NOT NULL, 
	PRIMARY KEY (version)
);
INSERT INTO "schema_version" VALUES(1);
INSERT INTO "schema_version" VALUES(2);
INSERT INTO "schema_version" VALUES(3);
INSERT INTO "schema_version" VALUES(4);
INSERT INTO "schema_version" VALUES(5);
CREATE TABLE scores (
    run_id VARCHAR(64) NOT NULL, question_id VARCHAR(64) NOT NULL, metric VARCHAR(64) NOT NULL, value FLOAT,
    status VARCHAR(16) NOT NULL, reason TEXT NOT NULL, version VARCHAR(64) NOT NULL,
    PRIMARY KEY (run_id, question_id, metric)
);
INSERT INTO "scores" VALUES('e1c233c14dc06766','1a94d5ef48f2c6ce','faithfulness',NULL,'no_answer','the answer is a refusal: there is nothing to judge','1+claims1+context1');
INSERT INTO "scores" VALUES('e1c233c14dc06766','1a94d5ef48f2c6ce','questeval_recall',NULL,'no_answer','the answer is a refusal: there is nothing to judge','1+questeval1');
INSERT INTO "scores" VALUES('e1c233c14dc06766','1a94d5ef48f2c6ce','rouge_l',NULL,'no_answer','the answer is a refusal: there is nothing to judge','1');
INSERT INTO "scores" VALUES('e1c233c14dc06766','1a94d5ef48f2c6ce','token_f1',NULL,'no_answer','the answer is a refusal: there is nothing to judge','2');
INSERT INTO "scores" VALUES('e1c233c14dc06766','4b137f137f3ba479','faithfulness',NULL,'no_answer','the answer is a refusal: there is nothing to judge','1+claims1+context1');
INSERT INTO "scores" VALUES('e1c233c14dc06766','4b137f137f3ba479','questeval_recall',NULL,'no_answer','the answer is a refusal: there is nothing to judge','1+questeval1');
INSERT INTO "scores" VALUES('e1c233c14dc06766','4b137f137f3ba479','rouge_l',NULL,'no_answer','the answer is a refusal: there is nothing to judge','1');
INSERT INTO "scores" VALUES('e1c233c14dc06766','4b137f137f3ba479','token_f1',NULL,'no_answer','the answer is a refusal: there is nothing to judge','2');
INSERT INTO "scores" VALUES('e1c233c14dc06766','239ad4b19fa6bff5','faithfulness',1.0,'ok','','1+claims1+context1');
INSERT INTO "scores" VALUES('e1c233c14dc06766','239ad4b19fa6bff5','questeval_recall',NULL,'not_applicable','no question about the reference can be answered from it','1+questeval1');
INSERT INTO "scores" VALUES('e1c233c14dc06766','239ad4b19fa6bff5','rouge_l',3.07692307692307709388e-01,'ok','','1');
INSERT INTO "scores" VALUES('e1c233c14dc06766','239ad4b19fa6bff5','token_f1',3.07692307692307709388e-01,'ok','','2');
CREATE INDEX ix_indexes_corpus_id ON indexes (corpus_id);
CREATE INDEX ix_question_sets_corpus_id ON question_sets (corpus_id);
CREATE INDEX ix_runs_corpus_id ON runs (corpus_id);
CREATE INDEX ix_documents_corpus_id_name ON documents (corpus_id, name);
COMMIT;
