// Copyright the spark-zorder developers
// SPDX-License-Identifier: Apache-2.0

// The statements of spark-zorder. Everything else goes to the next parser, so no keyword is
// reserved; names and predicates are only delimited here and parsed by that next parser.
grammar ZOrderSqlBase;

singleStatement
    : statement SEMICOLON* EOF
    ;

statement
    : optimize                                                             #optimizeTable
    | EXPLAIN explainMode? optimize                                        #explainOptimize
    | SHOW LAYOUT HISTORY target                                           #showLayoutHistory
    | SHOW LAYOUT target (FOR columns)?                                    #showLayout
    | SHOW WORKLOAD target                                                 #showWorkload
    | CREATE IF NOT EXISTS ZORDER INDEX ON target columns? settings?       #createIndex
    | CREATE ZORDER INDEX (IF NOT EXISTS)? ON target columns? settings?    #createIndex
    | REFRESH ZORDER INDEX ON target columns?                              #refreshIndex
    | DROP IF EXISTS ZORDER INDEX ON target                                #dropIndex
    | DROP ZORDER INDEX (IF EXISTS)? ON target                             #dropIndex
    | SHOW SKIPPING FOR anything                                           #showSkipping
    | RECOVER LAYOUT target ABANDON?                                       #recoverLayout
    | UNDO LAYOUT target                                                   #undoLayout
    | PUBLISH LAYOUT target (WHERE predicate=anything)?                    #publishLayout
    | ALTER TABLE target sortBy                                            #alterSortBy
    | VACUUM LAYOUT target (RETAIN number=IDENTIFIER HOURS)? (DRY RUN)?    #vacuumLayout
    ;

// FULL may follow WHERE, too. Only the next parser knows whether that word still belongs to the
// predicate (`WHERE a = full`), so `anything` takes it in and ZOrderAstBuilder decides.
optimize
    : OPTIMIZE TABLE? target FULL?
      (WHERE predicate=anything)?
      (ZORDER BY (AUTO | columns))?
      (INTO into=STRING)?
      settings?
      dryRun?
    ;

settings
    : OPTIONS LEFT_PAREN (option (COMMA option)*)? RIGHT_PAREN
    ;

// also read on its own, from the middle of a CREATE TABLE
sortBy
    : SORT BY (LEXICAL | ZORDER)? LEFT_PAREN (multipartName (COMMA multipartName)*)? RIGHT_PAREN
    | SORT BY ZORDER AUTO
    ;

explainMode
    : LOGICAL | FORMATTED | EXTENDED | CODEGEN | COST
    ;

dryRun
    : DRY RUN
    ;

option
    : key EQ? value
    ;

key
    : STRING
    | multipartName
    ;

value
    : STRING
    | IDENTIFIER
    | nonReserved
    ;

target
    : IDENTIFIER_CLAUSE LEFT_PAREN inParentheses RIGHT_PAREN
    | multipartName
    | STRING
    ;

// an expression that the next parser reads
inParentheses
    : (~(LEFT_PAREN | RIGHT_PAREN) | LEFT_PAREN inParentheses? RIGHT_PAREN)+
    ;

columns
    : LEFT_PAREN multipartName (COMMA multipartName)* RIGHT_PAREN
    | multipartName (COMMA multipartName)*
    ;

multipartName
    : name (DOT name)*
    ;

name
    : IDENTIFIER
    | BACKQUOTED_IDENTIFIER
    | nonReserved
    ;

// text that the next parser reads
anything
    : .+?
    ;

nonReserved
    : ABANDON | ALTER | AUTO | BY | CODEGEN | COST | CREATE | DROP | DRY | EXISTS | EXPLAIN | EXTENDED | FOR
    | FORMATTED | FULL | HISTORY | HOURS | IDENTIFIER_CLAUSE | IF | INDEX | INTO | LAYOUT | LEXICAL | LOGICAL | NOT | ON
    | OPTIMIZE | OPTIONS | PUBLISH | RECOVER | REFRESH | RETAIN | RUN | SHOW | SKIPPING | SORT | TABLE | UNDO
    | VACUUM | WHERE | WORKLOAD | ZORDER
    ;

ABANDON: 'ABANDON';
ALTER: 'ALTER';
AUTO: 'AUTO';
BY: 'BY';
CODEGEN: 'CODEGEN';
COST: 'COST';
CREATE: 'CREATE';
DROP: 'DROP';
DRY: 'DRY';
EXISTS: 'EXISTS';
EXPLAIN: 'EXPLAIN';
EXTENDED: 'EXTENDED';
FOR: 'FOR';
FORMATTED: 'FORMATTED';
FULL: 'FULL';
HISTORY: 'HISTORY';
HOURS: 'HOURS';
IDENTIFIER_CLAUSE: 'IDENTIFIER';
IF: 'IF';
INDEX: 'INDEX';
INTO: 'INTO';
LAYOUT: 'LAYOUT';
LEXICAL: 'LEXICAL';
LOGICAL: 'LOGICAL';
NOT: 'NOT';
ON: 'ON';
OPTIMIZE: 'OPTIMIZE';
OPTIONS: 'OPTIONS';
PUBLISH: 'PUBLISH';
RECOVER: 'RECOVER';
REFRESH: 'REFRESH';
RETAIN: 'RETAIN';
RUN: 'RUN';
SHOW: 'SHOW';
SKIPPING: 'SKIPPING';
SORT: 'SORT';
TABLE: 'TABLE';
UNDO: 'UNDO';
VACUUM: 'VACUUM';
WHERE: 'WHERE';
WORKLOAD: 'WORKLOAD';
ZORDER: 'ZORDER';

COMMA: ',';
DOT: '.';
EQ: '=';
LEFT_PAREN: '(';
RIGHT_PAREN: ')';
SEMICOLON: ';';

STRING
    : '\'' ( ~('\''|'\\') | '\\' . | '\'\'' )* '\''
    | '"' ( ~('"'|'\\') | '\\' . | '""' )* '"'
    | 'R\'' ~'\''* '\''
    | 'R"' ~'"'* '"'
    ;

// Letters of any script. A number is an IDENTIFIER, too: the next parser refuses it where a name must stand.
IDENTIFIER
    : [\p{L}\p{M}\p{N}_$]+
    ;

BACKQUOTED_IDENTIFIER
    : '`' ( ~'`' | '``' )* '`'
    ;

SIMPLE_COMMENT
    : '--' ~[\r\n]* '\r'? '\n'? -> channel(HIDDEN)
    ;

BRACKETED_COMMENT
    : '/*' ( BRACKETED_COMMENT | . )*? '*/' -> channel(HIDDEN)
    ;

WS
    : [ \r\n\t\u00A0\u3000]+ -> channel(HIDDEN)
    ;

// operators, parameter markers and whatever else a predicate holds
UNRECOGNIZED
    : .
    ;
