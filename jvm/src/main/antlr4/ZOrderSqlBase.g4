grammar ZOrderSqlBase;
singleStatement : OPTIMIZE EOF ;
OPTIMIZE : 'OPTIMIZE' ;
WS : [ \r\n\t]+ -> channel(HIDDEN) ;
